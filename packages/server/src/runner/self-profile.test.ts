import { describe, expect, test } from 'vitest';
import { fitLine, profileSizes, selfProfile } from './self-profile.ts';

/** A model on a clock that only its runs move. */
function profileOf(costMs: (rows: number, run: number) => number, budgetMs = 600) {
  let now = 0;
  let runs = 0;
  const profile = selfProfile({
    sizes: profileSizes(32),
    budgetMs,
    now: () => now,
    effort: () => now,
    run: (rows) => {
      now += costMs(rows, runs);
      runs += 1;
    },
  });
  return { profile, runs, spentMs: now };
}

describe('The self-profile', () => {
  test('batches a tiny model as far as it was tried', () => {
    const { profile } = profileOf((rows) => 0.028 + 0.001 * rows);
    expect(profile.bestRows).toBe(32);
    expect(profile.fixedMs).toBeCloseTo(0.028);
    expect(profile.perRowMs).toBeCloseTo(0.001);
    expect(profile.points.map(({ rows }) => rows)).toEqual([1, 2, 4, 8, 16, 32]);
  });

  test('leaves a model alone whose rows become dearer in a batch', () => {
    const { profile } = profileOf((rows) => (rows === 1 ? 7.4 : 8.8 * rows));
    expect(profile.bestRows).toBe(1);
  });

  test('takes the smallest size that is near to the cheapest', () => {
    // A row: 2.3 alone, then 2.1, 1.9, 1.82, 1.8, 1.8.
    const perRow: Readonly<Record<number, number>> = { 1: 2.3, 2: 2.1, 4: 1.9, 8: 1.82, 16: 1.8, 32: 1.8 };
    expect(profileOf((rows) => rows * (perRow[rows] ?? 0), 10_000).profile.bestRows).toBe(8);
  });

  test('does not take a gain below a tenth for one', () => {
    expect(profileOf((rows) => (rows === 1 ? 1 : 0.92 * rows)).profile.bestRows).toBe(1);
  });

  test('measures single rows again before it believes in batching', () => {
    // Something else used the processor while the first size was measured.
    const { profile } = profileOf((rows, run) => (run < 16 ? 30 : 10 * rows), 100_000);
    expect(profile.bestRows).toBe(1);
  });

  test('compares sizes by the effort of the processor, not by a clock that others disturb', () => {
    let now = 0;
    let effort = 0;
    const profile = selfProfile({
      sizes: [1, 2, 4],
      budgetMs: 1000,
      now: () => now,
      effort: () => effort,
      run: (rows) => {
        effort += 1 + rows;
        // Larger batches lose the processor more often.
        now += (1 + rows) * rows;
      },
    });
    expect(profile.bestRows).toBe(4);
  });

  test('keeps within its time but for the first size', () => {
    const { profile, spentMs, runs } = profileOf((rows) => 500 * rows);
    expect(profile.points).toEqual([{ rows: 1, medianMs: 500 }]);
    expect(runs).toBe(4);
    expect(spentMs).toBe(2000);
  });

  test('ends at the first size that the model can not run', () => {
    const { profile } = profileOf((rows) => {
      if (rows > 4) throw new Error('bad_alloc');
      return 1;
    });
    expect(profile.points.map(({ rows }) => rows)).toEqual([1, 2, 4]);
  });
});

test('profileSizes are the powers of two below the limit, and the limit', () => {
  expect(profileSizes(1)).toEqual([1]);
  expect(profileSizes(6)).toEqual([1, 2, 4, 6]);
  expect(profileSizes(8)).toEqual([1, 2, 4, 8]);
});

describe('fitLine', () => {
  const points = (...medians: number[]) => medians.map((medianMs, index) => ({ rows: 2 ** index, medianMs }));

  test('never gives a negative cost', () => {
    expect(fitLine(points(8, 4, 2))).toMatchObject({ perRowMs: 0 });
    const convex = fitLine(points(1, 4, 16));
    expect(convex.fixedMs).toBe(0);
    expect(convex.perRowMs).toBeGreaterThan(0);
  });

  test('takes a single point for the cost of a row', () => {
    expect(fitLine(points(7))).toEqual({ fixedMs: 0, perRowMs: 7 });
  });
});
