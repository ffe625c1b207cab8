import { assert } from '../../base/assert.ts';
import { type Instant, NEVER } from '../../base/time.ts';
import { type MemoryPoint, MemoryTrend } from './memory-trend.ts';
import { DEFAULT_LEAK_OPTIONS, type LeakOptions } from './options.ts';
import { robustSlope } from './robust-slope.ts';

export interface MemorySample {
  /** Requests (or runs: the same each time) that this process has finished. */
  readonly requests: number;
  /** Resident memory of the process. */
  readonly bytes: number;
  /** Where its memory ends; undefined when nothing limits it. */
  readonly limitBytes?: number | undefined;
}

export interface LeakVerdict {
  /** `growing` and `jumped` are reasons to recycle the process. */
  readonly kind: 'steady' | 'growing' | 'jumped';
  /** By the robust slope; 0 until there are points enough. */
  readonly bytesPerRequest: number;
  /** When the limit is reached at this pace; NEVER when it is not in sight. */
  readonly limitInMs: number;
  readonly because: string;
}

/** The order of points without a trend is further from its mean than this once in some 30,000 looks. */
const MIN_TREND_SCORE = 4;
/** Each half of the points must rise by this share of the whole slope: what grew once, or comes to rest, is no leak. */
const MIN_HALF_RATIO = 1 / 3;

/** A rise that may be a large request's own memory. */
interface Rise {
  readonly beforeBytes: number;
  lowestBytes: number;
  samples: number;
}

/**
 * Decides what: whether a runner loses memory, so that it is recycled before it is killed.
 *
 * Why this design: memory of a healthy process is a saw (garbage collection), has steps (a first large input) and noise.
 * Least squares takes all three for growth. Here the points are the low tides of ever longer stretches, their slope is
 * the median over all pairs, and it counts only when the order of the points has a trend, the growth is worth a
 * recycling, and both halves grow: a step is in one half at most. A jump counts when it stays. A process that replaced
 * one that was recycled for a jump may reach the same level: else a model that needs that much would be recycled for
 * ever. True leaks of that kind then live longer each time, until the slope or the growth limit ends them.
 *
 * Transitions: steady ⇄ growing, by each new point · steady, growing → jumped, until `recycled`.
 * Cold start: steady; `warmupRequests` are not looked at. Recovery: `recycled` starts over for the new process.
 * Not counted: memory outside the samples, such as a device's.
 */
export class LeakDetector {
  readonly #options: LeakOptions;
  #trend: MemoryTrend;
  #firstRequests: number | undefined = undefined;
  #last: MemoryPoint | undefined = undefined;
  #rise: Rise | undefined = undefined;
  #jumpedBytes = 0;
  #growing = false;
  #bytesPerRequest = 0;
  /** Level that jumps of earlier processes reached. */
  #knownBytes = -NEVER;

  constructor(options: Partial<LeakOptions> = {}) {
    this.#options = { ...DEFAULT_LEAK_OPTIONS, ...options };
    const { minPoints, maxPoints, jumpSamples } = this.#options;
    assert(minPoints >= 4 && minPoints <= maxPoints, 'a verdict needs points, and no more than there can be');
    assert(jumpSamples >= 1, 'a jump is looked at again');
    this.#trend = new MemoryTrend(this.#options);
  }

  /** Takes a sample; one that does not come after the last is ignored. */
  observed(sample: MemorySample, now: Instant): LeakVerdict {
    const { requests, bytes, limitBytes = NEVER } = sample;
    this.#firstRequests ??= requests;
    const isWarm = requests - this.#firstRequests >= this.#options.warmupRequests;
    if (isWarm && requests > (this.#last?.requests ?? -NEVER)) {
      const point = { requests, bytes, at: now };
      this.#followRise(point);
      if (this.#trend.add(point)) this.#look();
      this.#last = point;
    }
    return this.#verdict(limitBytes - bytes);
  }

  /** A new process has taken the place of the one that was observed. */
  recycled(): void {
    if (this.#jumpedBytes > 0) this.#knownBytes = Math.max(this.#knownBytes, this.#last?.bytes ?? 0);
    this.#trend = new MemoryTrend(this.#options);
    this.#firstRequests = undefined;
    this.#last = undefined;
    this.#rise = undefined;
    this.#jumpedBytes = 0;
    this.#growing = false;
    this.#bytesPerRequest = 0;
  }

  #followRise(point: MemoryPoint): void {
    const { jumpBytes, jumpRequests, jumpSamples } = this.#options;
    const rise = this.#rise;
    if (rise) {
      rise.lowestBytes = Math.min(rise.lowestBytes, point.bytes);
      rise.samples += 1;
      if (rise.lowestBytes - rise.beforeBytes <= jumpBytes) this.#rise = undefined;
      else if (rise.samples >= jumpSamples) this.#jumped(rise);
      return;
    }
    const last = this.#last;
    if (!last || point.requests - last.requests > jumpRequests) return;
    if (point.bytes - last.bytes <= jumpBytes) return;
    this.#rise = { beforeBytes: last.bytes, lowestBytes: point.bytes, samples: 0 };
  }

  #jumped({ beforeBytes, lowestBytes }: Rise): void {
    this.#rise = undefined;
    if (lowestBytes > this.#knownBytes + this.#options.jumpBytes || this.#knownBytes === -NEVER) {
      this.#jumpedBytes = lowestBytes - beforeBytes;
    }
  }

  #look(): void {
    const { points } = this.#trend;
    if (points.length < this.#options.minPoints) return;
    const { bytesPerRequest, trendScore } = robustSlope(points);
    this.#bytesPerRequest = bytesPerRequest;
    const middle = points.length >> 1;
    this.#growing =
      trendScore >= MIN_TREND_SCORE &&
      bytesPerRequest * spanOf(points).requests >= this.#options.minGrowthBytes &&
      [points.slice(0, middle), points.slice(middle)].every(
        (half) => robustSlope(half).bytesPerRequest >= bytesPerRequest * MIN_HALF_RATIO,
      );
  }

  #verdict(leftBytes: number): LeakVerdict {
    const bytesPerRequest = this.#bytesPerRequest;
    const limitInMs = this.#limitInMs(leftBytes);
    if (this.#jumpedBytes > 0) {
      const because = `memory grew by ${megabytes(this.#jumpedBytes)} MB in one request, and kept it`;
      return { kind: 'jumped', bytesPerRequest, limitInMs, because };
    }
    if (this.#growing) {
      const { requests } = spanOf(this.#trend.points);
      const because = `memory grows by ${Math.round(bytesPerRequest)} bytes a request, over ${requests} requests`;
      return { kind: 'growing', bytesPerRequest, limitInMs, because };
    }
    return { kind: 'steady', bytesPerRequest, limitInMs, because: 'memory does not grow with requests' };
  }

  /** Only of a slope that counts: noise would cross any limit some day. */
  #limitInMs(leftBytes: number): number {
    if (!this.#growing) return NEVER;
    const { requests, ms } = spanOf(this.#trend.points);
    if (!(requests > 0 && ms > 0)) return NEVER;
    return Math.max(0, leftBytes) / ((this.#bytesPerRequest * requests) / ms);
  }
}

function spanOf(points: readonly MemoryPoint[]): { requests: number; ms: number } {
  const [first, last] = [points[0], points.at(-1)];
  return first && last
    ? { requests: last.requests - first.requests, ms: last.at - first.at }
    : { requests: 0, ms: 0 };
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1_000_000);
}
