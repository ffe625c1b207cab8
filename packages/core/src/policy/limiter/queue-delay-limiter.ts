import { assert } from '../../base/assert.ts';
import type { Instant } from '../../base/time.ts';
import { DEFAULT_QUEUE_DELAY_LIMITER_OPTIONS, type QueueDelayLimiterOptions } from './options.ts';

/** Rows as parts of a batch of the largest size: a fraction is meant. */
export interface LimiterAsk {
  /** Of all works that wait or run. */
  readonly insideBatches: number;
  /** Of the work that asks. */
  readonly askedBatches: number;
}

interface Interval {
  readonly startedAt: Instant;
  leastDelayMs: number;
}

/**
 * Decides what: how many batches of work a pool lets in at once, waiting and running together. What is beyond it is shed.
 *
 * Why this design: a limiter that compares latency with its own best (gradient, Vegas) takes a batcher's latency for
 * congestion: a full batch takes longer than a single row, so it shrinks until batches are small and throughput is a
 * fraction of what it could be. Time spent waiting is the honest signal, since only work beyond what the runners need
 * waits for long; the least wait of an interval tells a standing queue from a burst (CoDel, RFC 8289). Additive increase
 * and multiplicative decrease find the limit; the floor of two batches a runner keeps every runner busy.
 *
 * Transitions, after each interval: the least wait over the target → the limit shrinks · not, and the limit was in use →
 * it grows · else it stays.
 * Cold start: the floor. Recovery: an interval is enough to change direction.
 * Not counted: an interval in which nothing ran; runs that failed. The interval in which the shape changed starts anew.
 */
export class QueueDelayLimiter {
  readonly #options: QueueDelayLimiterOptions;
  #runners = 1;
  #batchMs = 0;
  #limit: number;
  #interval: Interval | undefined = undefined;
  /** Most that was asked for in the interval, let in or not. */
  #mostAsked = 0;

  constructor(options: Partial<QueueDelayLimiterOptions> = {}) {
    this.#options = { ...DEFAULT_QUEUE_DELAY_LIMITER_OPTIONS, ...options };
    const { floorBatches, ceilingBatches, decreaseRatio, usedRatio } = this.#options;
    assert(floorBatches > 0 && floorBatches <= ceilingBatches, 'the floor is not above the ceiling');
    assert(
      decreaseRatio > 0 && decreaseRatio < 1,
      'a decrease makes the limit smaller, and leaves some of it',
    );
    assert(usedRatio >= 0 && usedRatio <= 1, 'a ratio lies in [0, 1]');
    this.#limit = floorBatches;
  }

  /** In batches of the largest size, for all runners together. */
  get limit(): number {
    return this.#limit;
  }

  /** Least wait of an interval that shrinks the limit. */
  get targetMs(): number {
    return Math.max(this.#options.targetMs, this.#options.targetRuns * this.#batchMs);
  }

  /**
   * Whether a work may join what is inside. Ask for every work that comes, since asking shows whether the limit is in
   * use. One that is larger than the limit is let in when nothing else is inside: else it would never be.
   */
  admits({ insideBatches, askedBatches }: LimiterAsk): boolean {
    const wanted = insideBatches + askedBatches;
    this.#mostAsked = Math.max(this.#mostAsked, wanted);
    return wanted <= this.#limit || insideBatches <= 0;
  }

  /** Runners that take work now, and what a run of the largest size takes. The limit keeps its share of each runner. */
  shape({ runners, batchMs }: { runners: number; batchMs: number }): void {
    const present = Math.max(1, runners);
    this.#batchMs = batchMs;
    if (present === this.#runners) return;
    this.#limit *= present / this.#runners;
    this.#runners = present;
    this.#interval = undefined;
  }

  /** A run has begun, with a work in it that waited so long. */
  observed(delayMs: number, now: Instant): void {
    const interval = this.#interval;
    if (interval && now - interval.startedAt >= this.#intervalMs) {
      this.#adjust(interval.leastDelayMs);
      this.#interval = undefined;
      this.#mostAsked = 0;
    }
    this.#interval ??= { startedAt: now, leastDelayMs: Infinity };
    this.#interval.leastDelayMs = Math.min(this.#interval.leastDelayMs, delayMs);
  }

  get #intervalMs(): number {
    return Math.max(this.#options.intervalMs, this.#options.intervalRuns * this.#batchMs);
  }

  #adjust(leastDelayMs: number): void {
    const { floorBatches, ceilingBatches, increaseBatches, decreaseRatio, usedRatio } = this.#options;
    let limit = this.#limit;
    if (leastDelayMs > this.targetMs) limit *= decreaseRatio;
    else if (this.#mostAsked >= limit * usedRatio) limit += increaseBatches;
    this.#limit = Math.min(Math.max(limit, floorBatches * this.#runners), ceilingBatches * this.#runners);
  }
}
