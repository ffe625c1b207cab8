/** When a runner that ended unasked is started again. */
export interface RestartOptions {
  /**
   * Longest wait before the first restart, in ms. Default: 100: a single crash should cost about as little as a model
   * load.
   */
  readonly firstDelayMs: number;
  /** Each further end within the window multiplies the longest wait by this. Default: 4: at ease after three. */
  readonly growthFactor: number;
  /** Longest wait of a back-off, in ms. Default: 10,000: beyond it, people notice before the runner is back. */
  readonly maxDelayMs: number;
  /** So many ends within the window are a crash loop. Default: 5: bad luck seldom strikes five times in a minute. */
  readonly loopExits: number;
  /** In ms. Default: 60,000. Longer than all back-offs of a loop together, else none would ever be seen. */
  readonly loopWindowMs: number;
  /** First wait of a crash loop's probe, in ms. Default: 15,000. Doubles with each probe that fails. */
  readonly firstProbeMs: number;
  /** In ms. Default: 300,000: what was repaired outside is found within five minutes. */
  readonly maxProbeMs: number;
  /** A runner that took work for so long, in ms, has recovered: what was before is forgotten. Default: 60,000. */
  readonly stableMs: number;
}

export const DEFAULT_RESTART_OPTIONS: RestartOptions = {
  firstDelayMs: 100,
  growthFactor: 4,
  maxDelayMs: 10_000,
  loopExits: 5,
  loopWindowMs: 60_000,
  firstProbeMs: 15_000,
  maxProbeMs: 300_000,
  stableMs: 60_000,
};
