import type { GimbalError, Instant } from '@gimbal/core';
import type { BodyMemory } from './body-memory.ts';
import type { ExchangeListener, HeaderLines, HttpLimits } from './exchange.ts';

/** Numbers for metrics; all but `open` only grow. */
export interface ConnectionCounters {
  open: number;
  accepted: number;
  /** Connections over the limit. */
  refused: number;
  requests: number;
  /** Requests that were answered here because they could not be read. */
  malformed: number;
  receivedBytes: number;
  sentBytes: number;
  /** Connections that the system could not give us, mostly for want of descriptors. */
  acceptErrors: number;
}

export interface RenderedRefusal {
  readonly headers: HeaderLines;
  readonly body: string;
}

/** What a connection asks of its server. */
export interface ConnectionHost {
  readonly limits: HttpLimits;
  readonly counters: ConnectionCounters;
  readonly listener: ExchangeListener;
  /** Shared by all connections. */
  readonly bodyMemory: BodyMemory;
  now(): Instant;
  dateLine(): HeaderLines;
  /** Whether answers end their connections: draining, or no longer listening. */
  isClosing(): boolean;
  renderRefusal(error: GimbalError, status: number, remoteAddress: string): RenderedRefusal;
  connectionClosed(connection: unknown): void;
}
