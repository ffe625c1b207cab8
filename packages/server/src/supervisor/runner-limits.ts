/** Time limits of a runner's life. */
export interface RunnerLimits {
  /** From the start of the process to its first word. Node and the runtime's library must be read from disk. */
  readonly startMs: number;
  /** Loading, warming and measuring a model; large ones on slow disks take minutes. */
  readonly loadMs: number;
  /** An idle runner that has been silent this long is asked whether it lives. */
  readonly heartbeatEveryMs: number;
  /** A runner that does not answer for this long is taken for hung. */
  readonly heartbeatLimitMs: number;
  /** A batch is hung after this many times its predicted duration … */
  readonly hangFactor: number;
  /** … but never sooner than this. */
  readonly hangFloorMs: number;
  /** A batch whose every work has expired is hung after this long, since nobody waits for it … */
  readonly expiredGraceMs: number;
  /** … but never before so many times its predicted duration: clients with short deadlines must not end runners. */
  readonly expiredFactor: number;
  /** A stream that nobody reads any more is hung when its model has not come to its next step after this. */
  readonly cancelMs: number;
  /** From being told to stop to being ended. */
  readonly stopMs: number;
  /** Time box of the self-profile of a variant. */
  readonly profileBudgetMs: number;
  /** How often limits are looked at; all of them are far longer. */
  readonly tickMs: number;
  /** After a replacement that failed, recycling waits this long before the next attempt. */
  readonly recycleRetryMs: number;
  /** Between recyclings for memory's sake: a model that honestly grows after each start must not be loaded all day. */
  readonly growthRecycleMs: number;
  /** A runner that loads for longer lets the next one begin: one slow disk must not keep all others from coming back. */
  readonly gateTurnMs: number;
}

export const DEFAULT_RUNNER_LIMITS: RunnerLimits = {
  startMs: 30_000,
  loadMs: 300_000,
  heartbeatEveryMs: 2000,
  heartbeatLimitMs: 5000,
  hangFactor: 10,
  hangFloorMs: 1000,
  expiredGraceMs: 1000,
  expiredFactor: 2,
  cancelMs: 5000,
  stopMs: 2000,
  profileBudgetMs: 600,
  tickMs: 100,
  recycleRetryMs: 30_000,
  growthRecycleMs: 60_000,
  gateTurnMs: 30_000,
};
