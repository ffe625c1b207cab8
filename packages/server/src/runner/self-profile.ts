import type { CostProfile } from '@gimbal/core';

/** Batch sizes beyond this are not tried: what they gain over it is within the noise. */
export const MAX_PROFILE_ROWS = 32;
/** Batching pays when it makes a row at least this much cheaper; less may be noise, and costs waiting. */
const MIN_GAIN_RATIO = 0.1;
/** Among the sizes that pay, the smallest that is this near to the cheapest row is best: larger ones only wait longer. */
const NEAR_BEST_RATIO = 0.05;
const MIN_RUNS = 3;
const MAX_RUNS = 15;
/** Runs before the first measurement at a size: memory is allocated, kernels are chosen. */
const WARM_RUNS = 1;

export interface ProfileOptions {
  /** Sizes to try, ascending, starting with 1. */
  readonly sizes: readonly number[];
  readonly budgetMs: number;
  readonly now: () => number;
  /**
   * A clock for comparing sizes, in milliseconds: the processor's time of a runner with one thread, which other programs
   * on the machine don't disturb; else the same as `now`.
   */
  readonly effort: () => number;
  /** Runs the model once with so many rows, blocking. Throws when the model can't. */
  readonly run: (rows: number) => void;
}

type Clocks = Pick<ProfileOptions, 'now' | 'effort' | 'run'>;

interface Measurement {
  readonly rows: number;
  readonly medianMs: number;
  /** By the clock of effort. Disturbances can only make a run dearer: the least is the nearest to the truth. */
  readonly leastMs: number;
}

/**
 * Measures what a run costs at growing batch sizes, within a time box, and fits `fixedMs + perRowMs × rows`. A size
 * that fails or that does not fit the box any more ends the measurement. The first size is always measured.
 */
export function selfProfile({ sizes, budgetMs, now, effort, run }: ProfileOptions): CostProfile {
  const deadline = now() + budgetMs;
  const measured: Measurement[] = [];
  for (const rows of sizes) {
    const last = measured.at(-1);
    if (last) {
      const expectedMs = (last.medianMs / last.rows) * rows * (MIN_RUNS + WARM_RUNS);
      if (now() + expectedMs > deadline) break;
    }
    const shareMs = Math.max(0, deadline - now()) / (sizes.length - measured.length);
    try {
      measured.push(measure({ rows, untilMs: now() + shareMs }, { now, effort, run }));
    } catch (error) {
      // A model that can't run one row of zeros may still run real ones; one that can't run two is not batched.
      if (!last) throw error;
      break;
    }
  }
  const bestRows = chooseRows(confirmed(measured, { now, effort, run }));
  return {
    ...fitLine(measured),
    points: measured.map(({ rows, medianMs }) => ({ rows, medianMs })),
    bestRows,
  };
}

/** 1, 2, 4, … up to the limit, and the limit itself. */
export function profileSizes(limit: number): readonly number[] {
  const sizes: number[] = [];
  for (let rows = 1; rows < limit; rows *= 2) sizes.push(rows);
  sizes.push(limit);
  return sizes;
}

function measure(
  { rows, untilMs }: { rows: number; untilMs: number },
  { now, effort, run }: Clocks,
): Measurement {
  for (let warm = 0; warm < WARM_RUNS; warm += 1) run(rows);
  const times: number[] = [];
  let leastMs = Number.POSITIVE_INFINITY;
  while (times.length < MIN_RUNS || (times.length < MAX_RUNS && now() < untilMs)) {
    const startedAt = now();
    const effortBefore = effort();
    run(rows);
    leastMs = Math.min(leastMs, effort() - effortBefore);
    times.push(now() - startedAt);
  }
  times.sort((left, right) => left - right);
  return { rows, medianMs: times[times.length >> 1] as number, leastMs };
}

/**
 * Before batching is believed to pay, single rows are measured once more: they came first, and whatever disturbed
 * just them would make every larger size look good.
 */
function confirmed(measured: readonly Measurement[], clock: Clocks): readonly Measurement[] {
  const [single, ...larger] = measured;
  if (!single || chooseRows(measured) === 1) return measured;
  const again = measure({ rows: single.rows, untilMs: clock.now() }, clock);
  return [{ ...single, leastMs: Math.min(single.leastMs, again.leastMs) }, ...larger];
}

/** The number of rows worth putting in one run: 1 unless a row becomes clearly cheaper. */
export function chooseRows(measured: readonly { readonly rows: number; readonly leastMs: number }[]): number {
  const single = measured[0];
  if (!single) return 1;
  const cheapest = Math.min(...measured.map(perRow));
  if (cheapest > perRow(single) * (1 - MIN_GAIN_RATIO)) return 1;
  return measured.find((size) => perRow(size) <= cheapest * (1 + NEAR_BEST_RATIO))?.rows ?? 1;
}

function perRow({ rows, leastMs }: { readonly rows: number; readonly leastMs: number }): number {
  return leastMs / rows;
}

/** Least squares through the medians, both coefficients kept at or above 0. */
export function fitLine(points: readonly { readonly rows: number; readonly medianMs: number }[]): {
  fixedMs: number;
  perRowMs: number;
} {
  const count = points.length;
  const meanRows = points.reduce((sum, { rows }) => sum + rows, 0) / count;
  const meanMs = points.reduce((sum, { medianMs }) => sum + medianMs, 0) / count;
  let covariance = 0;
  let variance = 0;
  for (const { rows, medianMs } of points) {
    covariance += (rows - meanRows) * (medianMs - meanMs);
    variance += (rows - meanRows) ** 2;
  }
  if (variance === 0) return { fixedMs: 0, perRowMs: meanMs / meanRows };
  const slope = covariance / variance;
  if (slope <= 0) return { fixedMs: meanMs, perRowMs: 0 };
  const fixedMs = meanMs - slope * meanRows;
  if (fixedMs >= 0) return { fixedMs, perRowMs: slope };
  // Through the origin: the least-squares slope when nothing is fixed.
  const squares = points.reduce((sum, { rows }) => sum + rows * rows, 0);
  return {
    fixedMs: 0,
    perRowMs: points.reduce((sum, { rows, medianMs }) => sum + rows * medianMs, 0) / squares,
  };
}
