/** When the memory of a runner counts as leaking. */
export interface LeakOptions {
  /**
   * Requests of a process that are not looked at. Default: 100: the first of each shape make buffers that stay, and
   * compilers and allocators settle.
   */
  readonly warmupRequests: number;
  /** Points of the trend, an even number. Default: 64: 2016 pairs, some 100 µs each time a point is added. */
  readonly maxPoints: number;
  /** Fewest points for a verdict. Default: 32. */
  readonly minPoints: number;
  /** Most samples that one point stands for; from then on the oldest point leaves. Default: 1024. */
  readonly maxPointSamples: number;
  /**
   * Growth over all points, by the slope, that is worth a recycling, in bytes. Default: 67,108,864: a garbage collector
   * may let so much pile up before it sweeps.
   */
  readonly minGrowthBytes: number;
  /** More than this in one request, kept, is a jump, in bytes. Default: 100,000,000. */
  readonly jumpBytes: number;
  /** Samples further apart than so many requests say nothing of a single one. Default: 64: a batch. */
  readonly jumpRequests: number;
  /** Samples after a jump that must still have it. Default: 3: a large request's own memory is gone by then. */
  readonly jumpSamples: number;
}

export const DEFAULT_LEAK_OPTIONS: LeakOptions = {
  warmupRequests: 100,
  maxPoints: 64,
  minPoints: 32,
  maxPointSamples: 1024,
  minGrowthBytes: 64 * 1024 * 1024,
  jumpBytes: 100_000_000,
  jumpRequests: 64,
  jumpSamples: 3,
};
