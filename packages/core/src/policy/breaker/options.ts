/** When a breaker opens and how it closes again. */
export interface BreakerOptions {
  /** Length of the window that failures are counted in, in ms. Default: 10,000. */
  readonly windowMs: number;
  /** Calls in the window before a ratio says anything. Default: 10: one failure of one call is no ratio. */
  readonly minCalls: number;
  /** Share of hard failures that opens. Default: 0.5. */
  readonly failureRatio: number;
  /** Hard failures in a row that open at once. Default: 5. */
  readonly consecutive: number;
  /** First time that it stays open, in ms; it doubles with each failed probe. Default: 1,000. */
  readonly openMs: number;
  /** Longest, in ms. Default: 60,000. */
  readonly maxOpenMs: number;
  /** A probe without an answer for so long has failed, in ms. Default: 5,000. */
  readonly probeTimeoutMs: number;
  /** Probes in a row that close it. Default: 2. */
  readonly probes: number;
  /** Transitions that are remembered. Default: 64. */
  readonly maxHistory: number;
}

export const DEFAULT_BREAKER_OPTIONS: BreakerOptions = {
  windowMs: 10_000,
  minCalls: 10,
  failureRatio: 0.5,
  consecutive: 5,
  openMs: 1_000,
  maxOpenMs: 60_000,
  probeTimeoutMs: 5_000,
  probes: 2,
  maxHistory: 64,
};
