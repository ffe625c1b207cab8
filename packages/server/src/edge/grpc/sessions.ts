import {
  constants,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Clock } from '@gimbal/core';
import type { Server } from '@grpc/grpc-js';

/** Bytes in flight to us on a stream and on a connection. The library leaves both at 64 KiB, which doubles the cost of
 * large messages by waiting for updates. */
export const WINDOW_BYTES = 1024 * 1024;

/** Pings beyond the allowed rate before a connection is closed, as gRPC has it. */
const MAX_PING_STRIKES = 2;

/** Clients that may go on to open calls when told to go: the highest stream id. */
const ANY_STREAM = 2 ** 31 - 1;

/** Longest `grpc-timeout` that the library's arithmetic of 32 bits bears, in ms. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;
const TIMEOUT = /^(\d{1,8})\s*([HMSmun])$/;
const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 0.001,
  n: 0.000001,
};

export interface SessionLimits {
  readonly maxConnections: number;
  readonly minPingIntervalMs: number;
}

interface Session {
  openStreams: number;
  lastPingAt: number;
  strikes: number;
}

/** The HTTP/2 connections below the gRPC library: windows, limits, and their end. */
export class Sessions {
  readonly #limits: SessionLimits;
  readonly #clock: Clock;
  readonly #open = new Map<ServerHttp2Session, Session>();
  #openStreams = 0;

  constructor(limits: SessionLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  get connections(): number {
    return this.#open.size;
  }

  get streams(): number {
    return this.#openStreams;
  }

  /**
   * Takes the HTTP/2 servers of a bound gRPC server under care. They are a private field of the library: its version is
   * pinned, and a test fails when they are no longer there.
   */
  watch(server: Server, onStream: (stream: ServerHttp2Stream) => void): void {
    const { http2Servers } = server as unknown as { http2Servers?: ReadonlyMap<Http2Server, unknown> };
    if (!http2Servers || http2Servers.size === 0) throw new Error('the gRPC library has no HTTP/2 servers');
    for (const http2Server of http2Servers.keys()) {
      http2Server.maxConnections = this.#limits.maxConnections;
      http2Server.updateSettings({ initialWindowSize: WINDOW_BYTES });
      http2Server.on('session', (session) => this.#take(session));
      http2Server.prependListener('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
        boundTimeout(headers);
        this.#count(stream);
        onStream(stream);
      });
    }
  }

  /** Tells every client to open its next calls elsewhere; calls that are on their way are still taken. */
  announceEnd(): void {
    for (const session of this.#open.keys()) {
      if (!session.closed && !session.destroyed) session.goaway(constants.NGHTTP2_NO_ERROR, ANY_STREAM);
    }
  }

  /** Cuts off whatever is still open. */
  destroy(): void {
    for (const session of this.#open.keys()) session.destroy();
  }

  #take(session: ServerHttp2Session): void {
    const state: Session = { openStreams: 0, lastPingAt: Number.NEGATIVE_INFINITY, strikes: 0 };
    this.#open.set(session, state);
    session.setLocalWindowSize(WINDOW_BYTES);
    session.on('ping', () => this.#pinged(session, state));
    session.once('close', () => this.#open.delete(session));
    // The library closes broken connections; without a listener their errors would end the process.
    session.on('error', () => {});
  }

  #count(stream: ServerHttp2Stream): void {
    const state = stream.session && this.#open.get(stream.session as ServerHttp2Session);
    this.#openStreams += 1;
    if (state) {
      state.openStreams += 1;
      state.strikes = 0;
    }
    stream.once('close', () => {
      this.#openStreams -= 1;
      if (state) state.openStreams -= 1;
    });
  }

  /** Clients with calls ping to measure the line, as often as they get data; only idle ones can be a nuisance. */
  #pinged(session: ServerHttp2Session, state: Session): void {
    const now = this.#clock.now();
    const isTooSoon = now - state.lastPingAt < this.#limits.minPingIntervalMs;
    state.lastPingAt = now;
    if (state.openStreams > 0) return;
    state.strikes = isTooSoon ? state.strikes + 1 : 0;
    if (state.strikes <= MAX_PING_STRIKES) return;
    session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, 0, Buffer.from('too_many_pings'));
    session.destroy();
  }
}

/** Cuts a budget to what the library can count: it would take longer ones for ones that have passed. */
function boundTimeout(headers: IncomingHttpHeaders): void {
  const given = headers['grpc-timeout'];
  if (typeof given !== 'string') return;
  const match = TIMEOUT.exec(given);
  if (!match) return;
  if (Number(match[1]) * (UNIT_MS[match[2] ?? ''] ?? 0) > MAX_TIMEOUT_MS) delete headers['grpc-timeout'];
}
