import type { ErrorCode, Outcome } from '../errors/registry.ts';
import type { Protocol } from './inference-port.ts';

/** One finished call: the source of its log line, its metrics, and later its story in `why`. */
export interface CallRecord {
  readonly requestId: string;
  readonly protocol: Protocol;
  readonly method: string;
  /** The route's pattern, never the raw path: bounded cardinality. */
  readonly route: string;
  readonly status: number;
  readonly outcome: Outcome;
  /** Undefined when nothing failed. */
  readonly code: ErrorCode | undefined;
  readonly detail: string | undefined;
  /** Undefined when the call never reached a model. */
  readonly model: string | undefined;
  readonly version: string | undefined;
  readonly variant: string | undefined;
  readonly rung: number | undefined;
  readonly rows: number;
  readonly batchRows: number | undefined;
  readonly queueMs: number | undefined;
  readonly batchMs: number | undefined;
  readonly preprocessMs: number | undefined;
  readonly inferMs: number | undefined;
  readonly postprocessMs: number | undefined;
  readonly totalMs: number;
  readonly traceId: string | undefined;
  /** Of a stream: how many pieces were sent, and how long the first one took. Undefined for whole answers. */
  readonly pieces?: number | undefined;
  readonly firstPieceMs?: number | undefined;
  readonly requestBytes: number;
  readonly responseBytes: number;
}

/** Told of every finished call. Must be cheap and must not throw. */
export interface CallObserver {
  finished(record: CallRecord): void;
}
