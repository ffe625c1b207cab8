import { connect, type Socket } from 'node:net';
import type { AnswerCheck } from './plan.ts';

/** An answer larger than this is a failure of the server under test. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

export interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

export interface ConnectionEvents {
  onReady(connection: Connection): void;
  onAnswer(connection: Connection, answer: Answer): void;
  /** The connection is gone; with it the request in flight, if there was one. */
  onGone(connection: Connection, reason: 'connect' | 'reset'): void;
}

/** A keep-alive HTTP/1.1 client connection with one request in flight: as little work per request as can be. */
export class Connection {
  /** The generator's own note about the request in flight. */
  caseIndex = -1;
  intendedMs = 0;
  attempt = 0;
  busy = false;
  open = false;
  readonly #socket: Socket;
  readonly #events: ConnectionEvents;
  #received: Buffer[] = [];
  #receivedBytes = 0;
  #expectedBytes = -1;
  #gone = false;

  constructor(address: { host: string; port: number }, events: ConnectionEvents) {
    this.#events = events;
    this.#socket = connect({ host: address.host, port: address.port, noDelay: true });
    this.#socket.on('connect', () => {
      this.open = true;
      events.onReady(this);
    });
    this.#socket.on('data', (chunk: Buffer) => this.#take(chunk));
    this.#socket.on('error', () => this.#lose(this.open ? 'reset' : 'connect'));
    this.#socket.on('close', () => this.#lose(this.open ? 'reset' : 'connect'));
  }

  send(request: readonly Buffer[]): void {
    this.busy = true;
    this.#expectedBytes = -1;
    if (request.length === 1) {
      this.#socket.write(request[0] as Buffer);
      return;
    }
    this.#socket.cork();
    for (const part of request) this.#socket.write(part);
    this.#socket.uncork();
  }

  /** Cuts the request off without any report: the caller has counted it. */
  cut(): void {
    this.#gone = true;
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#received.push(chunk);
    this.#receivedBytes += chunk.length;
    if (this.#receivedBytes > MAX_ANSWER_BYTES) {
      this.#socket.destroy();
      return;
    }
    if (this.#expectedBytes < 0) {
      const head = this.#received.length === 1 ? chunk : Buffer.concat(this.#received);
      this.#received = [head];
      this.#expectedBytes = answerLength(head);
    }
    if (this.#expectedBytes < 0 || this.#receivedBytes < this.#expectedBytes) return;
    const whole = this.#received.length === 1 ? (this.#received[0] as Buffer) : Buffer.concat(this.#received);
    this.#received = [];
    this.#receivedBytes = 0;
    this.busy = false;
    const bodyStart = whole.indexOf('\r\n\r\n') + 4;
    const status = Number(whole.toString('latin1', 9, 12));
    this.#events.onAnswer(this, { status, body: whole.subarray(bodyStart, this.#expectedBytes) });
  }

  #lose(reason: 'connect' | 'reset'): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#events.onGone(this, reason);
  }
}

/** Head plus body length, or -1 while the head is incomplete. */
function answerLength(received: Buffer): number {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return -1;
  const head = received.toString('latin1', 0, end).toLowerCase();
  const at = head.indexOf('\r\ncontent-length:');
  if (at < 0) return end + 4;
  return end + 4 + Number.parseInt(head.slice(at + 17), 10);
}

export function answersRightly(body: Buffer, check: AnswerCheck): boolean {
  switch (check.kind) {
    case 'none':
      return true;
    case 'integer-after': {
      const at = body.indexOf(check.key);
      const start = at + check.key.length;
      return (
        at >= 0 && check.expected.includes(Number.parseInt(body.toString('latin1', start, start + 12), 10))
      );
    }
    case 'argmax-float32': {
      const start = body.length - check.count * 4;
      if (start < 0) return false;
      let best = 0;
      for (let index = 1; index < check.count; index += 1) {
        if (body.readFloatLE(start + index * 4) > body.readFloatLE(start + best * 4)) best = index;
      }
      return best === check.expected;
    }
  }
}
