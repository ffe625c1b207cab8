import type { GimbalError } from '../errors.ts';

/** The longest wait before the first retry; it doubles with each. */
const BASE_DELAY_MS = 200;
/** Doubling stops here. */
const MAX_BACKOFF_MS = 10_000;

export interface DelayPlan {
  readonly error: GimbalError;
  /** The attempt that failed, from 1. */
  readonly attempt: number;
  readonly maxRetryDelayMs: number;
  /** Until the deadline. */
  readonly remainingMs: number;
  /** Uniform in [0, 1). */
  readonly random: number;
}

/**
 * How long to wait before the next attempt; undefined when there must be none. Full jitter
 * (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/), never sooner than the server asked, and
 * never a sleep that ends after the deadline or after what the caller is ready to wait.
 */
export function retryDelayMs(plan: DelayPlan): number | undefined {
  const { error, attempt, maxRetryDelayMs, remainingMs, random } = plan;
  const ceiling = Math.min(BASE_DELAY_MS * 2 ** (attempt - 1), MAX_BACKOFF_MS, maxRetryDelayMs);
  const asked = error.retryAfterMs ?? 0;
  if (asked > maxRetryDelayMs) return undefined;
  const delayMs = Math.max(asked, random * ceiling);
  return delayMs < remainingMs ? delayMs : undefined;
}
