import type { ConcurrencyLimiter, LimiterSample } from './naive-engine.ts';

/** The defaults of a well-known proxy's adaptive concurrency filter. */
export interface GradientOptions {
  readonly minLimit: number;
  readonly maxLimit: number;
  /** The limit is decided anew from the median of each such stretch. */
  readonly windowMs: number;
  /** So much more than the time without load is no queue. */
  readonly bufferRatio: number;
  /** With the least limit, to measure the time without load… */
  readonly measuredRequests: number;
  /** …every so often. */
  readonly measureEveryMs: number;
}

const DEFAULTS: GradientOptions = {
  minLimit: 3,
  maxLimit: 1000,
  windowMs: 100,
  bufferRatio: 0.25,
  measuredRequests: 50,
  measureEveryMs: 60_000,
};

/**
 * Limits what is inside by the gradient of latency: the time without load over the time now. A batcher's latency grows
 * with the batch, which it takes for a queue; with few inside, batches stay small, and each request costs more.
 */
export class GradientLimiter implements ConcurrencyLimiter {
  readonly #options: GradientOptions;
  #limit: number;
  /** Undefined while it is measured. */
  #leastMs: number | undefined = undefined;
  #measuredAt = 0;
  #windowFrom = 0;
  #samples: number[] = [];

  constructor(options: Partial<GradientOptions> = {}) {
    this.#options = { ...DEFAULTS, ...options };
    this.#limit = this.#options.minLimit;
  }

  get limit(): number {
    return this.#leastMs === undefined ? this.#options.minLimit : this.#limit;
  }

  ended({ latencyMs, isDropped, at }: LimiterSample): void {
    if (isDropped) return;
    const { measuredRequests, measureEveryMs, windowMs } = this.#options;
    this.#samples.push(latencyMs);
    if (this.#leastMs === undefined) {
      if (this.#samples.length < measuredRequests) return;
      this.#leastMs = this.#takeMedian();
      this.#measuredAt = at;
      this.#windowFrom = at;
      return;
    }
    if (at - this.#windowFrom < windowMs) return;
    this.#decide(this.#leastMs, this.#takeMedian());
    this.#windowFrom = at;
    if (at - this.#measuredAt >= measureEveryMs) this.#leastMs = undefined;
  }

  #decide(leastMs: number, nowMs: number): void {
    const { minLimit, maxLimit, bufferRatio } = this.#options;
    const gradient = Math.min(2, Math.max(0.5, (leastMs * (1 + bufferRatio)) / nowMs));
    const wanted = this.#limit * gradient + Math.sqrt(this.#limit);
    this.#limit = Math.min(maxLimit, Math.max(minLimit, wanted));
  }

  #takeMedian(): number {
    const sorted = this.#samples.sort((one, other) => one - other);
    this.#samples = [];
    return sorted[Math.floor(sorted.length / 2)] ?? 1;
  }
}
