import type { Instant } from '@gimbal/core';
import type { RunnerLimits } from './runner-limits.ts';

/** When a batch is taken for hung, and why then. */
export interface HangLimit {
  readonly at: Instant;
  readonly because: 'slow' | 'expired';
}

/**
 * A batch is hung after ten times its prediction. When nobody waits for it any more the runner is of more use to others,
 * so that it is ended sooner; but never below the floor and twice the prediction, else a client with deadlines of a
 * millisecond could end runners as it likes.
 */
export function hangLimit(
  batch: { readonly predictedMs: number; readonly latestDeadline: Instant | undefined },
  limits: RunnerLimits,
  now: Instant,
): HangLimit {
  const { hangFloorMs, hangFactor, expiredFactor, expiredGraceMs } = limits;
  const { predictedMs, latestDeadline = Number.POSITIVE_INFINITY } = batch;
  const slowAt = now + Math.max(hangFloorMs, hangFactor * predictedMs);
  const expiredAt = Math.max(
    latestDeadline + expiredGraceMs,
    now + Math.max(hangFloorMs, expiredFactor * predictedMs),
  );
  return expiredAt < slowAt ? { at: expiredAt, because: 'expired' } : { at: slowAt, because: 'slow' };
}
