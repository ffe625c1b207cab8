import type { Instant } from '../base/time.ts';
import type { CostProfile, VersionSpec, VersionState } from './model.ts';
import type { StreamPiece } from './stream.ts';
import type { Span, WorkRequest, WorkResult } from './work.ts';

/** Lane of a request; `critical` is served first. */
export type Criticality = 'critical' | 'default' | 'sheddable';

export type Protocol = 'native' | 'v2' | 'compat' | 'grpc';

/** What is known of a call when its head has been read. */
export interface CallContext {
  readonly requestId: string;
  readonly protocol: Protocol;
  readonly receivedAt: Instant;
  /** Smallest of the caller's budgets, in ms from `receivedAt`; undefined: the version's deadline applies. */
  readonly timeoutMs: number | undefined;
  readonly criticality: Criticality;
  /** Who asks, among whom time is shared. Default: all are one. */
  readonly tenant?: string;
  /** The step of a pipeline that asks: `portrait/faces`. Undefined for requests of clients. */
  readonly step?: string;
  /** Only the best rung will do: the caller would rather be refused. Default: false. */
  readonly refusesDegraded?: boolean;
  /** Body size when Content-Length told it. */
  readonly bodyBytes: number | undefined;
}

/** A version as the edges see it. `spec` is complete even while loading. */
export interface VersionView {
  readonly spec: VersionSpec;
  readonly state: VersionState;
  /** Why it is unavailable, for people; public. */
  readonly reason: string | undefined;
  /** Of the best variant, once profiled. */
  readonly profile: CostProfile | undefined;
  /** Most rows that one run takes, once known. */
  readonly maxRows: number;
  readonly variants: readonly {
    readonly name: string;
    readonly state: VersionState;
    readonly runners: number;
  }[];
  readonly statistics: VersionStatistics;
}

export interface DurationStatistic {
  readonly count: number;
  readonly ns: bigint;
}

/** Counters in the shape that the V2 statistics extension reads. Monotone while the version is loaded. */
export interface VersionStatistics {
  readonly lastInferenceMs: number;
  readonly inferenceCount: number;
  readonly executionCount: number;
  readonly success: DurationStatistic;
  readonly fail: DurationStatistic;
  readonly queue: DurationStatistic;
  readonly computeInput: DurationStatistic;
  readonly computeInfer: DurationStatistic;
  readonly computeOutput: DurationStatistic;
  readonly batches: readonly {
    readonly rows: number;
    readonly computeInput: DurationStatistic;
    readonly computeInfer: DurationStatistic;
    readonly computeOutput: DurationStatistic;
  }[];
}

/** Model names known to the repository, loaded or not. */
export interface CatalogueEntry {
  readonly model: string;
  /** Ascending; empty when nothing is loaded. The last ready one takes requests that name no version. */
  readonly versions: readonly VersionView[];
  /** Version folders that could not be read or loaded, and why (public text). */
  readonly failures: readonly { readonly version: string; readonly reason: string }[];
}

/** Arena memory that belongs to a call until the call is closed. */
export interface Block {
  readonly span: Span;
  /** Writable view of exactly `span`. */
  readonly bytes: Uint8Array;
}

/**
 * One client call: memory for its inputs, the works that it submits, and their end. An edge closes it exactly once:
 * when the response has been flushed, or at once when the client has gone or the request was refused.
 */
export interface Call {
  /** Memory for an input. Throws OVERLOADED when the arena is full, INPUT_TOO_LARGE when it could never fit. */
  reserve(byteLength: number): Block;
  /** Returns a block before the call ends (a parser that over-reserved). */
  release(block: Block): void;
  /**
   * Queues a work. `onSettled` is called exactly once, never inside `submit` and never after `close`. Of a model that
   * streams, pieces are told before it, one by one, to `onPiece`; without it they are gathered (within a bound) and
   * become the parts of the result.
   */
  submit(
    request: WorkRequest,
    onSettled: (result: WorkResult) => void,
    onPiece?: (piece: StreamPiece) => void,
  ): void;
  /** Ends the call: works still queued leave the queue, running ones are ignored when they end, memory returns. */
  close(): void;
}

/** What edges may ask of the rest of the program. */
export interface InferencePort {
  /** Server-wide readiness: every required model is ready and the server is not draining. */
  readonly ready: boolean;
  /** Shutting down: answers carry `Connection: close`. */
  readonly draining: boolean;
  catalogue(): readonly CatalogueEntry[];
  /** Throws MODEL_NOT_FOUND, VERSION_NOT_FOUND (both with the nearest name), MODEL_LOADING or MODEL_UNAVAILABLE. */
  resolve(model: string, version: string | undefined): VersionView;
  /** As `resolve`, but also gives versions that are not ready (metadata, readiness, configuration). */
  find(model: string, version: string | undefined): VersionView;
  /** Admission, before the body. Throws OVERLOADED, DEADLINE_EXCEEDED or DRAINING. */
  open(version: VersionView, context: CallContext): Call;
  /** Resolves when every version of the model is ready; rejects with the load error (MODEL_UNAVAILABLE). */
  load(model: string): Promise<void>;
  /** Resolves when the model takes no more requests; requests inside it finish. Throws MODEL_NOT_FOUND. */
  unload(model: string): Promise<void>;
}
