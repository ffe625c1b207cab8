import type { MemoryPoint } from './memory-trend.ts';

export interface RobustSlope {
  /** Median of the slopes of all pairs (Theil 1950, Sen 1968): a quarter of the points may be anything. */
  readonly bytesPerRequest: number;
  /** How many standard deviations the order of the points is from that of no trend (Mann 1945, Kendall 1975). */
  readonly trendScore: number;
}

/** O(n²) in time and memory: for points that are bounded. */
export function robustSlope(points: readonly MemoryPoint[]): RobustSlope {
  const slopes: number[] = [];
  let rising = 0;
  for (const [index, later] of points.entries()) {
    for (let earlier = 0; earlier < index; earlier += 1) {
      const from = points[earlier];
      if (!from || later.requests === from.requests) continue;
      const slope = (later.bytes - from.bytes) / (later.requests - from.requests);
      slopes.push(slope);
      rising += Math.sign(slope);
    }
  }
  const n = points.length;
  const deviation = Math.sqrt((n * (n - 1) * (2 * n + 5)) / 18);
  return { bytesPerRequest: median(slopes), trendScore: deviation > 0 ? rising / deviation : 0 };
}

function median(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}
