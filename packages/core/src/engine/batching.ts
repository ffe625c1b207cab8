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
  /** Since rows have been waiting beside an idle runner. */
  readonly idleSince: Instant;
  /** By when the batch must start for its oldest deadline. */
  readonly latestStart: Instant;
}

/** `go` with so many rows, or look again at the next turn of the event loop. */
export type BatchingDecision = { readonly kind: 'go'; readonly rows: number } | { readonly kind: 'linger' };

/**
 * Decides when an idle runner starts, and with how many rows.
 *
 * Why this design: a batch gathers by itself while runners are busy, so beside an idle runner the answer is to go. The
 * driver asks at the end of an event-loop turn: everything that arrived in that turn is together. Waiting longer pays
 * only where a run has a fixed cost that a companion would share: `rows × gap` is what the waiting rows lose, `fixed`
 * what one run fewer saves. As in the ski-rental problem, never more is spent on waiting than the run itself would cost.
 * No timer is involved: `linger` asks again at the next turn.
 * Cold start: no arrivals seen, an infinite gap: go. Not counted: rows of other buckets.
 */
export function decideBatch(situation: BatchingSituation, now: Instant): BatchingDecision {
  const { rows, maxRows } = situation;
  if (rows >= maxRows) return { kind: 'go', rows: maxRows };
  if (waitingPays(situation, now)) return { kind: 'linger' };
  return { kind: 'go', rows: preferred(rows, situation.preferredSizes) };
}

function waitingPays(situation: BatchingSituation, now: Instant): boolean {
  if (situation.rows * situation.gapMs >= situation.fixedMs) return false;
  const limitMs = Math.min(situation.maxDelayMs, situation.fixedMs);
  return now - situation.idleSince < limitMs && now < situation.latestStart;
}

/** The largest preferred size that the waiting rows fill; all of them when they fill none. */
function preferred(rows: number, sizes: readonly number[]): number {
  let best = rows;
  for (const size of sizes) if (size <= rows) best = size;
  return best;
}
