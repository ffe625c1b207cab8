import type { GimbalError } from '../errors/gimbal-error.ts';
import type { RunEndCause } from '../policy/quarantine/verdict.ts';
import type { Batch } from './batch.ts';
import type { WorkOutcome } from './outcome.ts';
import type { Work } from './work.ts';

/** What the engine asks its driver to do. Called from inside engine methods; must not call back into the engine. */
export interface EngineDriver<Payload> {
  /** The runner has fewer batches than it may have. Ending a run that hangs is the runner pool's: it has `predictedMs`. */
  dispatch(batch: Batch<Payload>): void;
  /**
   * Exactly once for each submitted work. The engine keeps no report: who called `batchReported` releases it when the
   * calls of all its parts have closed.
   */
  settle(work: Work<Payload>, outcome: WorkOutcome): void;
  /** Nothing of a removed version is left in the engine. */
  drained(version: string): void;
  /**
   * A rung's breaker wants to know whether its variant works again: submit a probe with an input of your own. Without
   * it, a breaker that has opened stays open.
   */
  probe?(want: ProbeWanted): void;
}

/** A golden input is wanted by the breaker of a rung. */
export interface ProbeWanted {
  readonly version: string;
  readonly rung: number;
  readonly ticket: number;
}

/** Which runner an event is about. */
export interface RunnerPlace {
  readonly version: string;
  readonly rung: number;
  readonly runnerId: string;
}

/** Why a runner is gone. */
export interface RunnerLoss {
  /** What works that can't be run again end with. */
  readonly error: GimbalError;
  readonly cause: RunEndCause;
}
