import type { CostProfile } from '@gimbal/core';

/** Batch sizes beyond this are not tried: what they gain over it is within the noise of a network. */
const MAX_PROFILE_ROWS = 32;
const MAX_RUNS = 5;
/** A row must become at least this much cheaper for a larger batch to pay. */
const MIN_GAIN_RATIO = 0.1;

export interface WireProfileOptions {
  /** Most rows to try; 1 where the model does not batch. */
  readonly maxRows: number;
  readonly budgetMs: number;
  readonly now: () => number;
  /** One run with so many rows. Rejects when the model can't. */
  readonly run: (rows: number) => Promise<void>;
}

interface Point {
  readonly rows: number;
  readonly medianMs: number;
}

/**
 * What a run costs over the wire, by runs of our own at growing batch sizes within a time box: the way there and back, and
 * what the server does. A size that fails ends the measurement; when the first one does, `guess` is all that is known.
 */
export async function wireProfile(options: WireProfileOptions, guess: CostProfile): Promise<CostProfile> {
  const { budgetMs, now, run } = options;
  const deadline = now() + budgetMs;
  const points: Point[] = [];
  for (const rows of sizesUpTo(Math.min(options.maxRows, MAX_PROFILE_ROWS))) {
    try {
      points.push(await measure(rows, { deadline, now, run }));
    } catch {
      break;
    }
    if (now() >= deadline) break;
  }
  if (points.length === 0) return guess;
  return { ...lineThrough(points), points, bestRows: bestRowsOf(points) };
}

async function measure(
  rows: number,
  { deadline, now, run }: Pick<WireProfileOptions, 'now' | 'run'> & { deadline: number },
): Promise<Point> {
  const times: number[] = [];
  // The first run at a size is of connections, buffers and caches.
  await run(rows);
  while (times.length === 0 || (times.length < MAX_RUNS && now() < deadline)) {
    const startedAt = now();
    await run(rows);
    times.push(now() - startedAt);
  }
  times.sort((left, right) => left - right);
  return { rows, medianMs: times[times.length >> 1] ?? 0 };
}

function sizesUpTo(limit: number): number[] {
  const sizes: number[] = [];
  for (let rows = 1; rows < limit; rows *= 2) sizes.push(rows);
  sizes.push(limit);
  return sizes;
}

/** Least squares, both coefficients kept at or above 0. */
function lineThrough(points: readonly Point[]): { fixedMs: number; perRowMs: number } {
  const count = points.length;
  const meanRows = points.reduce((sum, { rows }) => sum + rows, 0) / count;
  const meanMs = points.reduce((sum, { medianMs }) => sum + medianMs, 0) / count;
  let covariance = 0;
  let variance = 0;
  for (const { rows, medianMs } of points) {
    covariance += (rows - meanRows) * (medianMs - meanMs);
    variance += (rows - meanRows) ** 2;
  }
  const perRowMs = variance === 0 ? 0 : Math.max(0, covariance / variance);
  return { fixedMs: Math.max(0.01, meanMs - perRowMs * meanRows), perRowMs };
}

function bestRowsOf(points: readonly Point[]): number {
  const perRow = ({ rows, medianMs }: Point): number => medianMs / rows;
  let best = points[0] as Point;
  for (const point of points) if (perRow(point) < perRow(best) * (1 - MIN_GAIN_RATIO)) best = point;
  return best.rows;
}
