/** Limits of talking to remote engines that nobody needs to set for a model, but tests do. */
export interface RemoteLimits {
  /** First wait before an endpoint that is out is asked again; doubles up to `maxBackOffMs`, with jitter. */
  readonly firstBackOffMs: number;
  readonly maxBackOffMs: number;
  /** An attempt is taken for lost after this many times the 95th percentile of what was seen … */
  readonly timeoutFactor: number;
  /** … but never sooner than this: collections and cold caches of the other side are no outage. */
  readonly timeoutFloorMs: number;
  /** Time box of the self-profile over the wire. */
  readonly profileBudgetMs: number;
  /** Longest that one run of the profile, or of a trial, may take. */
  readonly trialTimeoutMs: number;
  /** How often the number of slots is brought to what the limiter found. */
  readonly slotReviewMs: number;
  /** Retries and hedges that are allowed before there was any traffic to earn them. */
  readonly budgetFloor: number;
  /** Kept free of a deadline for the way back. */
  readonly deadlineMarginMs: number;
}

export const DEFAULT_REMOTE_LIMITS: RemoteLimits = {
  firstBackOffMs: 500,
  maxBackOffMs: 15_000,
  timeoutFactor: 5,
  timeoutFloorMs: 500,
  profileBudgetMs: 600,
  trialTimeoutMs: 5_000,
  slotReviewMs: 100,
  budgetFloor: 10,
  deadlineMarginMs: 1,
};

/** Slots of one pool, over all endpoints: each is a runner to the engine. */
export const MAX_SLOTS = 1_024;
