/** How many inputs that crash a model are remembered, and for how long. */
export interface QuarantineOptions {
  /** Inputs remembered; the one that was added first leaves. Default: 1000: some hundred bytes each. */
  readonly maxInputs: number;
  /**
   * How long an input is refused, in ms. Default: 3,600,000: a retrying client costs two runners an hour, and an input
   * that was blamed wrongly is not refused for good.
   */
  readonly expiryMs: number;
}

export const DEFAULT_QUARANTINE_OPTIONS: QuarantineOptions = {
  maxInputs: 1000,
  expiryMs: 3_600_000,
};

/** When a work is blamed for how its runs ended. */
export interface VerdictOptions {
  /** Ends by the runner itself (a crash) that convict, the last of them alone. Default: 2: one restart may be bad luck. */
  readonly ownEnds: number;
  /**
   * Ends that convict when some may have had another cause: an operator's or the kernel's SIGKILL, a machine that
   * stood still. Default: 3: one more than for crashes.
   */
  readonly doubtfulEnds: number;
  /** Runs that a work may be part of, whatever ended them. Default: 4: enough for a verdict, and no loop. */
  readonly maxRuns: number;
}

export const DEFAULT_VERDICT_OPTIONS: VerdictOptions = {
  ownEnds: 2,
  doubtfulEnds: 3,
  maxRuns: 4,
};
