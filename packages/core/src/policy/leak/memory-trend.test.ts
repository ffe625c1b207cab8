import { describe, expect, it } from 'vitest';
import { MemoryTrend } from './memory-trend.ts';

function trendOf(bytes: readonly number[], limits: { maxPoints: number; maxPointSamples: number }): number[] {
  const trend = new MemoryTrend(limits);
  for (const [index, value] of bytes.entries()) trend.add({ requests: index, bytes: value, at: index });
  return trend.points.map((point) => point.bytes);
}

describe('MemoryTrend', () => {
  it('has a point for each sample until it is full, then the lower of each two', () => {
    const limits = { maxPoints: 4, maxPointSamples: 64 };
    expect(trendOf([5, 1, 7, 9], limits)).toEqual([5, 1, 7, 9]);
    expect(trendOf([5, 1, 7, 9, 3], limits)).toEqual([1, 7]);
    expect(trendOf([5, 1, 7, 9, 3, 2], limits)).toEqual([1, 7, 2]);
    expect(trendOf([5, 1, 7, 9, 3, 2, 8, 8, 4, 4, 4, 6], limits)).toEqual([1, 2, 4]);
  });

  it('moves on when a point stands for as many samples as it may', () => {
    const limits = { maxPoints: 4, maxPointSamples: 2 };
    expect(trendOf([9, 1, 9, 2, 9, 3, 9, 4, 9, 5, 9, 6], limits)).toEqual([3, 4, 5, 6]);
  });

  it('stays within its points, however long it runs', () => {
    const trend = new MemoryTrend({ maxPoints: 8, maxPointSamples: 16 });
    for (let requests = 0; requests < 5000; requests += 1) {
      trend.add({ requests, bytes: requests, at: requests });
      expect(trend.points.length).toBeLessThanOrEqual(8);
    }
    // The window reaches back over eight points of sixteen samples.
    expect(trend.points[0]?.requests).toBeGreaterThanOrEqual(5000 - 9 * 16);
  });

  it('places a low tide where it was', () => {
    const trend = new MemoryTrend({ maxPoints: 2, maxPointSamples: 64 });
    for (const [index, bytes] of [7, 3, 5, 6].entries())
      trend.add({ requests: index, bytes, at: index * 10 });
    expect(trend.points).toEqual([
      { requests: 1, bytes: 3, at: 10 },
      { requests: 2, bytes: 5, at: 20 },
    ]);
  });
});
