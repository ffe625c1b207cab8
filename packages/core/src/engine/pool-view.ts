import type { Criticality } from '../contract/inference-port.ts';

/** What a pool has to say for metrics. */
export interface PoolView {
  readonly rung: number;
  /** Most critical first. */
  readonly lanes: readonly {
    readonly lane: Criticality;
    readonly works: number;
    readonly oldestAgeMs: number;
    /** How long a new work of the lane would wait for a runner. */
    readonly predictedWaitMs: number;
  }[];
  readonly queuedRows: number;
  readonly queuedBytes: number;
  readonly runningRows: number;
  readonly runningBatches: number;
  /** Runners that take work. */
  readonly serving: number;
  readonly maxRows: number;
}
