import { createServer, type Server, type Socket } from 'node:net';
import { type Clock, GimbalError, type Instant, NEVER } from '@gimbal/core';
import { BodyMemory } from './body-memory.ts';
import { Connection } from './connection.ts';
import type { ConnectionCounters, ConnectionHost, RenderedRefusal } from './connection-host.ts';
import type { ExchangeListener, HeaderLines, HttpLimits } from './exchange.ts';
import { DateLine, statusLine } from './header-lines.ts';
import { refusalDocument } from './refusal-document.ts';
import { socketReadingInto } from './stream-handle.ts';
import { systemTicker, type Ticker } from './sweep-timer.ts';

export type { ConnectionCounters, RenderedRefusal } from './connection-host.ts';
export type { Ticker } from './sweep-timer.ts';

/** Time limits are enforced this much late, at most twice. */
const SWEEP_INTERVAL_MS = 500;

/** One receive buffer serves all connections: what it holds is used or copied before the next read. */
const RECEIVE_BUFFER_BYTES = 256 * 1024;

/** Connections over the limit that are told so; beyond, they are only closed. */
const MAX_TOLD_REFUSALS = 256;

/** Connections that the kernel keeps while we are busy. */
const BACKLOG = 1024;

/** Refused clients come back spread over this many seconds. */
const MAX_RETRY_AFTER_S = 3;

const STATUS_SERVICE_UNAVAILABLE = 503;

export interface HttpServerOptions {
  /** Called with every request whose head is in order. */
  readonly listener: ExchangeListener;
  readonly limits: HttpLimits;
  readonly clock: Clock;
  /** While true, every answer ends its connection. */
  draining(): boolean;
  /** Told of requests that are answered here: malformed heads, and heads that came too slowly. */
  readonly onMalformed?: (error: GimbalError, remoteAddress: string) => void;
  /** Writes their answers. Default: a problem document (RFC 9457). */
  readonly renderError?: (error: GimbalError, status: number) => RenderedRefusal;
  /** Default: the system's timer, every 500 ms. */
  readonly ticker?: Ticker;
}

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
  readonly #server: Server;
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
    this.#server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (socket) =>
      this.#accept(socket),
    );
  }

  listen({ host, port }: { host: string; port: number }): Promise<{ port: number }> {
    return new Promise((resolve, reject) => {
      const server = this.#server;
      server.once('error', reject);
      server.listen({ host, port, backlog: BACKLOG }, () => {
        server.off('error', reject);
        server.on('error', () => {
          this.counters.acceptErrors += 1;
        });
        this.#stopSweeping = (this.#options.ticker ?? systemTicker)(SWEEP_INTERVAL_MS, () => this.#sweep());
        const address = server.address();
        resolve({ port: typeof address === 'object' && address ? address.port : port });
      });
    });
  }

  close(graceMs: number): Promise<void> {
    this.#closesAt = Math.min(this.#closesAt, this.now() + graceMs);
    if (!this.#isClosing) {
      this.#isClosing = true;
      this.#server.close();
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
    this.#settleClose();
  }

  #accept(accepted: Socket): void {
    if (this.#isClosing) {
      accepted.destroy();
      return;
    }
    if (this.#connections.size >= this.limits.maxConnections) {
      this.#refuse(accepted);
      return;
    }
    const socket = socketReadingInto(this.#receiveBuffer, accepted);
    const connection = new Connection(this, socket.socket);
    socket.deliverTo(connection);
    this.#connections.add(connection);
    this.counters.accepted += 1;
    this.counters.open += 1;
  }

  /** Tells a client that there are too many, and hangs up. Its request is dropped unread, so that it reads the answer. */
  #refuse(socket: Socket): void {
    this.counters.refused += 1;
    socket.on('error', () => {});
    if (this.#refused.size >= MAX_TOLD_REFUSALS) {
      socket.destroy();
      return;
    }
    this.#refused.set(socket, false);
    socket.on('close', () => this.#refused.delete(socket));
    const { maxConnections } = this.limits;
    const error = new GimbalError(
      'OVERLOADED',
      `Cannot accept the connection: there are too many, expected at most ${maxConnections}`,
    );
    const { headers, body } = (this.#options.renderError ?? refusalDocument)(
      error,
      STATUS_SERVICE_UNAVAILABLE,
    );
    const retryAfter = `Retry-After: ${1 + (this.counters.refused % MAX_RETRY_AFTER_S)}\r\n`;
    const length = `Content-Length: ${Buffer.byteLength(body)}\r\n`;
    const head = `${statusLine(STATUS_SERVICE_UNAVAILABLE)}${headers}${retryAfter}${length}${this.dateLine()}Connection: close\r\n\r\n`;
    socket.end(head + body);
    socket.resume();
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
    this.#resolveClosed();
  }
}
