import type { ErrorCode } from '../errors/registry.ts';
import type { Criticality } from './inference-port.ts';

/** A run of a work that came to nothing, as `why` tells it. */
export interface LostRun {
  /** `crashed`, `hung`, `killed`, `oom-killed`, `out-of-memory`, `stopped`. */
  readonly cause: string;
  /** Nothing else was with the runner. */
  readonly alone: boolean;
}

/** What the version looked like when the decision fell. */
export interface DecisionSituation {
  /** Rows that waited and that ran, over all rungs. */
  readonly queuedRows: number;
  readonly runningRows: number;
  /** Runners that took work, over all rungs. */
  readonly serving: number;
  /** Position on the degradation ladder: 0 is all on the best rung, 1.25 three quarters on rung 1 and one on rung 2. */
  readonly ladderPosition: number;
  /** Rungs that got no work, and why: `breaker open`, `unavailable`, `device`. */
  readonly closedRungs: readonly { readonly rung: number; readonly because: string }[];
}

/**
 * What was decided about one work of a request, and what it was decided from: refused before or after its body, answered
 * (by which rung, why not by the best), failed, or given an answer from the cache. Several works of one request have a
 * record each, under the same request id.
 */
export interface DecisionRecord {
  readonly requestId: string;
  /** The step of a pipeline that asked: `portrait/faces`. Undefined for requests of clients. */
  readonly step?: string | undefined;
  /** Milliseconds since the Unix epoch, when it ended. */
  readonly wallTimeMs: number;
  readonly model: string;
  readonly version: string;
  readonly kind: 'refused' | 'answered' | 'failed' | 'cancelled' | 'cached';
  readonly code: ErrorCode | undefined;
  /** Public text of the error. */
  readonly detail: string | undefined;
  readonly lane: Criticality;
  readonly tenant: string;
  readonly rows: number;
  /** What the caller gave, or the version's deadline when it gave none. */
  readonly budgetMs: number;
  readonly deadlineTold: boolean;
  /** Undefined when it was never queued. */
  readonly predictedWaitMs: number | undefined;
  readonly waitedMs: number | undefined;
  readonly totalMs: number;
  readonly variant: string | undefined;
  readonly rung: number | undefined;
  /** Why not the best rung: `overload`, `unavailable`, `breaker`, `device`, `pinned`, `stale-answer`. */
  readonly degradedBecause: string | undefined;
  readonly runner: string | undefined;
  readonly batchRows: number | undefined;
  readonly lostRuns: readonly LostRun[];
  /** Undefined for answers, which were nothing special. */
  readonly situation: DecisionSituation | undefined;
}

/** Told of every decision. Must be cheap and must not throw. */
export interface DecisionObserver {
  decided(record: DecisionRecord): void;
}

/** One version's ladder, for operators. */
export interface LadderReport {
  readonly model: string;
  readonly version: string;
  /** 0 to the number of rungs less 1. */
  readonly position: number;
  readonly pinned: { readonly rung: number; readonly expiresInMs: number | undefined } | undefined;
  readonly rungs: readonly {
    readonly rung: number;
    readonly variant: string;
    readonly qualityRatio: number | undefined;
    /** Of new requests, now. */
    readonly shareRatio: number;
    readonly available: boolean;
    readonly because: string | undefined;
    /** Answered since the version was loaded. */
    readonly requests: number;
    readonly seconds: number;
    readonly breaker: string;
  }[];
  /** Newest last; bounded. */
  readonly history: readonly {
    readonly wallTimeMs: number;
    readonly from: number;
    readonly to: number;
    readonly because: string;
  }[];
}
