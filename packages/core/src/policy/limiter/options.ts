/** How much work a pool lets in at once. */
export interface QueueDelayLimiterOptions {
  /**
   * Batches for each runner that are always let in. Default: 2: one runs while the next one forms. With less, a runner
   * waits for work that was refused.
   */
  readonly floorBatches: number;
  /** Most batches for each runner. Default: 64: beyond it even quick runs wait long, and memory is bounded elsewhere. */
  readonly ceilingBatches: number;
  /**
   * Wait for a runner that is no reason to let in less, in ms. Default: 60, and never less than `targetRuns` runs: CoDel's
   * 5 ms are for packets.
   */
  readonly targetMs: number;
  /** Default: 1.5: behind the run that is on, even the last who came waits for up to one. */
  readonly targetRuns: number;
  /** In which every work must have waited longer than the target, in ms. Default: 200, and never less than `intervalRuns`. */
  readonly intervalMs: number;
  /** Default: 4: a change of the limit shows in the waits only after what is inside has run. */
  readonly intervalRuns: number;
  /** Batches more after an interval in which the limit was used and no work waited too long. Default: 1. */
  readonly increaseBatches: number;
  /** What is left of the limit after an interval in which all waited too long. Default: 0.8. */
  readonly decreaseRatio: number;
  /** Share of the limit that must have been in use for it to grow. Default: 0.9: a limit that nobody needs stays. */
  readonly usedRatio: number;
}

export const DEFAULT_QUEUE_DELAY_LIMITER_OPTIONS: QueueDelayLimiterOptions = {
  floorBatches: 2,
  ceilingBatches: 64,
  targetMs: 60,
  targetRuns: 1.5,
  intervalMs: 200,
  intervalRuns: 4,
  increaseBatches: 1,
  decreaseRatio: 0.8,
  usedRatio: 0.9,
};
