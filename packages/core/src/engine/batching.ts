import type { Instant } from '../base/time.ts';

/** What is known when a runner is idle and rows wait. */
export interface BatchingSituation {
  /** Rows waiting in the bucket that is next, at least 1. */
  readonly rows: number;
  /** Most rows in one run; 1 where batching does not pay. */
  readonly maxRows: number;
  /** Ascending; empty for none. */
  readonly preferredSizes: readonly number[];
  readonly maxDelayMs: number;
  /** Cost of a run that does not depend on its rows: what one more companion saves. */
  readonly fixedMs: number;
  /** Time between arrivals of rows, lately. */
  readonly gapMs: number;
  readonly lastArrival: Instant;
  /** Since rows have been waiting beside an idle runner. */
  readonly idleSince: Instant;
  /** By when the batch must start for its oldest deadline. */
  readonly latestStart: Instant;
}

/** `go` with so many rows, or `linger` for companions: look again when one arrives, and at the latest at `until`. */
export type BatchingDecision =
  | { readonly kind: 'go'; readonly rows: number }
  | { readonly kind: 'linger'; readonly until: Instant };

/**
 * Decides when an idle runner starts, and with how many rows.
 *
 * Why this design: a batch gathers by itself while runners are busy, so beside an idle runner the answer is to go. The
 * driver asks at the end of an event-loop turn: everything that arrived in that turn is together. Waiting longer pays
 * only where a run has a fixed cost that a companion would share: `rows × gap` is what the waiting rows lose, `fixed`
 * what one run fewer saves. As in the ski-rental problem, never more is spent on waiting than the run itself would cost,
 * and an arrival that is overdue makes the gap longer than it was thought to be. A lone caller who waits for each answer
 * leaves gaps longer than a run, so nothing waits for companions that don't exist.
 * Cold start: no arrivals seen, an infinite gap: go. Not counted: rows of other buckets.
 */
export function decideBatch(situation: BatchingSituation, now: Instant): BatchingDecision {
  const { rows, maxRows, preferredSizes } = situation;
  if (rows < maxRows) {
    const until = worthWaitingUntil(situation);
    if (until > now) return { kind: 'linger', until };
  }
  return { kind: 'go', rows: preferred(Math.min(rows, maxRows), preferredSizes) };
}

/** When waiting stops to pay if nobody comes; in the past when it never did. */
function worthWaitingUntil(situation: BatchingSituation): Instant {
  const { rows, gapMs, fixedMs, maxDelayMs, idleSince, lastArrival, latestStart } = situation;
  if (rows * gapMs >= fixedMs) return -Infinity;
  return Math.min(idleSince + Math.min(maxDelayMs, fixedMs), lastArrival + fixedMs / rows, latestStart);
}

/** The largest preferred size that the waiting rows fill; all of them when they fill none. */
function preferred(rows: number, sizes: readonly number[]): number {
  let best = rows;
  for (const size of sizes) if (size <= rows) best = size;
  return best;
}
