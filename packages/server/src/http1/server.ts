import type { Socket } from 'node:net';
import { type Clock, GimbalError, type Instant, NEVER } from '@gimbal/core';
import { AcceptGate, type DuplicateDescriptor } from './accept-gate.ts';
import { BodyMemory } from './body-memory.ts';
import { Connection } from './connection.ts';
import type { ConnectionCounters, ConnectionHost, RenderedRefusal } from './connection-host.ts';
import type { ExchangeListener, HeaderLines, HttpLimits } from './exchange.ts';
import { DateLine, statusLine } from './header-lines.ts';
import { LOOK_INTERVAL_MS, LoopPressure } from './loop-pressure.ts';
import { refusalDocument } from './refusal-document.ts';
import { type ByteReceiver, descriptorOf, socketReadingInto } from './stream-handle.ts';
import { systemTicker, type Ticker } from './sweep-timer.ts';

export type { ConnectionCounters, RenderedRefusal } from './connection-host.ts';
export type { Ticker } from './sweep-timer.ts';

/** Time limits are enforced this much late, at most twice. */
const SWEEP_INTERVAL_MS = 500;

/** One receive buffer serves all connections: what it holds is used or copied before the next read. */
const RECEIVE_BUFFER_BYTES = 256 * 1024;

/** Refused connections that may stay open until their refusal was read; beyond, they are closed behind it. */
const MAX_TOLD_REFUSALS = 256;

/**
 * Descriptors that connections leave to the rest of the program: runners that are started again, files that are read.
 * When the system has none left, libuv closes what it accepts without a word to anybody; so we stop short of that.
 */
const RESERVED_DESCRIPTORS = 16;

/** The part of them that refused connections may hold until their refusal was read. */
const DESCRIPTORS_FOR_REFUSALS = 8;

/** Trouble with accepting connections is told this often: it comes a thousand times a second. */
const TROUBLE_INTERVAL_MS = 10_000;

/** While the gate is shut for a loop that is saturated, at least so many connections stay: fewer saturate no loop. */
const FEWEST_CONNECTIONS = 64;
/** A gate that was shut for having too many connections opens when this share of them is left. */
const ROOM_RATIO = 0.95;

/** Refused clients come back spread over this many seconds. */
const MAX_RETRY_AFTER_S = 3;

const STATUS_SERVICE_UNAVAILABLE = 503;

/** Connections could not be taken since the last time this was told. */
export interface AcceptTrouble {
  /** Why, the last time: `EMFILE` and its like, or OVERLOADED when we refused before the system would have. */
  readonly code: string;
  readonly connections: number;
  /** The limit that was met, where it is known. */
  readonly maxOpenFiles: number | undefined;
}

export interface HttpServerOptions {
  /** Called with every request whose head is in order. */
  readonly listener: ExchangeListener;
  readonly limits: HttpLimits;
  readonly clock: Clock;
  /** While true, every answer ends its connection. */
  draining(): boolean;
  /** Told of requests that are answered here: malformed heads, and heads that came too slowly. */
  readonly onMalformed?: (error: GimbalError, remoteAddress: string) => void;
  /** Files that the process may have open (`ulimit -n`). Connections that come near it are answered with 503. */
  readonly maxOpenFiles?: number | undefined;
  /** Told, at most every 10 s, of connections that could not be taken for want of descriptors. */
  readonly onAcceptTrouble?: (trouble: AcceptTrouble) => void;
  /** Writes the answers of refusals. Default: a problem document (RFC 9457). */
  readonly renderError?: (error: GimbalError, status: number) => RenderedRefusal;
  /** Lets new connections wait in the kernel while there are too many, instead of being told so. */
  readonly duplicateDescriptor?: DuplicateDescriptor | undefined;
  /** Default: the system's timer. */
  readonly ticker?: Ticker;
}

/** Takes what refused clients send, which nobody wants. */
const DROPPED: ByteReceiver = { received: () => {} };

export interface HttpServer {
  readonly counters: Readonly<ConnectionCounters>;
  /** Port 0: any free one. Rejects with the system's error, such as EADDRINUSE. */
  listen(address: { readonly host: string; readonly port: number }): Promise<{ readonly port: number }>;
  /**
   * Takes no new connections and hangs up on idle ones; busy ones get `Connection: close` with their answer and are cut
   * off after `graceMs`. Resolves when the last is gone. Called again, the shorter time counts.
   */
  close(graceMs: number): Promise<void>;
}

/** An HTTP/1.1 server on sockets. It knows nothing of models. */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  return new SocketServer(options);
}

class SocketServer implements HttpServer, ConnectionHost {
  readonly limits: HttpLimits;
  readonly listener: ExchangeListener;
  readonly bodyMemory: BodyMemory;
  readonly counters: ConnectionCounters = {
    open: 0,
    accepted: 0,
    refused: 0,
    requests: 0,
    malformed: 0,
    receivedBytes: 0,
    sentBytes: 0,
    acceptErrors: 0,
  };
  readonly #options: HttpServerOptions;
  readonly #gate: AcceptGate;
  readonly #pressure = new LoopPressure();
  #lookedAt: Instant = NEVER;
  #stopLooking: (() => void) | undefined;
  readonly #dateLine: DateLine;
  readonly #receiveBuffer = Buffer.allocUnsafeSlow(RECEIVE_BUFFER_BYTES);
  readonly #connections = new Set<Connection>();
  /** Sockets over the limit that wait to have their refusal read, and whether a sweep has seen them. */
  readonly #refused = new Map<Socket, boolean>();
  readonly #closed: Promise<void>;
  #resolveClosed: () => void = () => {};
  #lastNow: Instant;
  #stopSweeping: (() => void) | undefined;
  #closesAt: Instant = NEVER;
  #isClosing = false;
  /** Connections that could not be taken since that was last told. */
  #troubled = 0;
  #troubleTellableAt: Instant = Number.NEGATIVE_INFINITY;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.limits = options.limits;
    this.listener = options.listener;
    this.bodyMemory = new BodyMemory(options.limits.maxCollectedBytes);
    this.#dateLine = new DateLine(options.clock);
    this.#lastNow = options.clock.now();
    this.#closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    this.#gate = new AcceptGate({
      onConnection: (socket) => this.#accept(socket),
      onError: (error) => {
        this.counters.acceptErrors += 1;
        this.#tellTrouble(error.code ?? error.message);
      },
      duplicate: options.duplicateDescriptor,
    });
  }

  async listen(address: { host: string; port: number }): Promise<{ port: number }> {
    const listening = await this.#gate.listen(address);
    const ticker = this.#options.ticker ?? systemTicker;
    this.#stopSweeping = ticker(SWEEP_INTERVAL_MS, () => this.#sweep());
    if (this.#options.duplicateDescriptor) this.#stopLooking = ticker(LOOK_INTERVAL_MS, () => this.#look());
    return listening;
  }

  close(graceMs: number): Promise<void> {
    this.#closesAt = Math.min(this.#closesAt, this.now() + graceMs);
    if (!this.#isClosing) {
      this.#isClosing = true;
      this.#gate.close();
      for (const socket of this.#refused.keys()) socket.destroy();
      for (const connection of this.#connections) connection.closeIfIdle();
    }
    if (graceMs <= 0) this.#destroyAll();
    this.#settleClose();
    return this.#closed;
  }

  now(): Instant {
    this.#lastNow = this.#options.clock.now();
    return this.#lastNow;
  }

  dateLine(): HeaderLines {
    // Every request and sweep has brought the time up to date, and the line knows only seconds.
    return this.#dateLine.at(this.#lastNow);
  }

  isClosing(): boolean {
    return this.#isClosing || this.#options.draining();
  }

  renderRefusal(error: GimbalError, status: number, remoteAddress: string): RenderedRefusal {
    this.#options.onMalformed?.(error, remoteAddress);
    return (this.#options.renderError ?? refusalDocument)(error, status);
  }

  connectionClosed(connection: Connection): void {
    if (!this.#connections.delete(connection)) return;
    this.counters.open -= 1;
    this.#minded();
    this.#settleClose();
  }

  #accept(accepted: Socket): void {
    if (this.#isClosing) {
      accepted.destroy();
      return;
    }
    if (this.#connections.size >= this.limits.maxConnections) {
      const { maxConnections } = this.limits;
      this.#refuse(accepted, `there are too many, expected at most ${maxConnections}`);
      return;
    }
    const spare = this.#spareDescriptors(accepted);
    if (spare < RESERVED_DESCRIPTORS) {
      this.#tellTrouble('OVERLOADED');
      const isHurried = spare < RESERVED_DESCRIPTORS - DESCRIPTORS_FOR_REFUSALS;
      this.#refuse(accepted, 'the server has no descriptors left for more', isHurried);
      return;
    }
    const socket = socketReadingInto(this.#receiveBuffer, accepted);
    const connection = new Connection(this, socket.socket);
    socket.deliverTo(connection);
    this.#connections.add(connection);
    this.counters.accepted += 1;
    this.counters.open += 1;
    this.#minded();
  }

  /** Shuts or opens the gate by how many there are and how the loop keeps up. */
  #minded(): void {
    const { size } = this.#connections;
    const { maxConnections } = this.limits;
    const isHurried = this.#pressure.saturated && size >= FEWEST_CONNECTIONS;
    if (isHurried || size >= maxConnections) this.#gate.shutNow();
    else if (this.#gate.shut && size <= maxConnections * ROOM_RATIO) this.#gate.open();
  }

  #look(): void {
    const now = this.now();
    if (this.#lookedAt < NEVER) this.#pressure.observed(now - this.#lookedAt - LOOK_INTERVAL_MS);
    this.#lookedAt = now;
    this.#minded();
  }

  /** Descriptors that are free beyond this socket's. */
  #spareDescriptors(socket: Socket): number {
    const { maxOpenFiles } = this.#options;
    const descriptor = maxOpenFiles === undefined ? undefined : descriptorOf(socket);
    if (maxOpenFiles === undefined || descriptor === undefined) return Number.POSITIVE_INFINITY;
    return maxOpenFiles - 1 - descriptor;
  }

  #tellTrouble(code: string): void {
    this.#troubled += 1;
    const now = this.now();
    if (now < this.#troubleTellableAt) return;
    this.#troubleTellableAt = now + TROUBLE_INTERVAL_MS;
    const connections = this.#troubled;
    this.#troubled = 0;
    this.#options.onAcceptTrouble?.({ code, connections, maxOpenFiles: this.#options.maxOpenFiles });
  }

  /**
   * Tells a client that its connection is one too many, and hangs up. Its request is dropped unread until it has had
   * time to read the answer; in a hurry the socket is closed behind it.
   */
  #refuse(accepted: Socket, why: string, isHurried = false): void {
    this.counters.refused += 1;
    const { socket, deliverTo } = socketReadingInto(this.#receiveBuffer, accepted);
    socket.on('error', () => {});
    const error = new GimbalError('OVERLOADED', `Cannot accept the connection: ${why}`);
    const { headers, body } = (this.#options.renderError ?? refusalDocument)(
      error,
      STATUS_SERVICE_UNAVAILABLE,
    );
    const retryAfter = `Retry-After: ${1 + (this.counters.refused % MAX_RETRY_AFTER_S)}\r\n`;
    const length = `Content-Length: ${Buffer.byteLength(body)}\r\n`;
    const head = `${statusLine(STATUS_SERVICE_UNAVAILABLE)}${headers}${retryAfter}${length}${this.dateLine()}Connection: close\r\n\r\n`;
    socket.end(head + body);
    if (isHurried || this.#refused.size >= MAX_TOLD_REFUSALS) {
      // The answer is in the kernel's hands by now: it leaves before the connection ends.
      socket.destroy();
      return;
    }
    this.#refused.set(socket, false);
    socket.on('close', () => this.#refused.delete(socket));
    deliverTo(DROPPED);
  }

  #sweep(): void {
    const now = this.now();
    if (now >= this.#closesAt) {
      this.#destroyAll();
      return;
    }
    for (const connection of this.#connections) connection.sweep(now);
    for (const [socket, isSeen] of this.#refused) {
      if (isSeen) socket.destroy();
      else this.#refused.set(socket, true);
    }
  }

  #destroyAll(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  #settleClose(): void {
    if (!this.#isClosing || this.#connections.size > 0) return;
    this.#stopSweeping?.();
    this.#stopSweeping = undefined;
    this.#stopLooking?.();
    this.#resolveClosed();
  }
}
