import { type Instant, QueueDelayLimiter, type RemoteSpec } from '@gimbal/core';
import { MAX_SLOTS } from './remote-limits.ts';

/** Batches at once for each endpoint that `auto` begins with, and never goes below: one runs while the next one travels. */
const FLOOR = 2;

/**
 * Decides how many batches are at the endpoints at once. A number is taken as it is; `auto` is found by the delay limiter:
 * what a batch takes beyond its own cost is time that it waited behind others there.
 */
export class Concurrency {
  readonly #fixed: number | undefined;
  readonly #limiter: QueueDelayLimiter;
  #endpoints = 0;

  constructor({ concurrency, maxConcurrency }: Pick<RemoteSpec, 'concurrency' | 'maxConcurrency'>) {
    this.#fixed = concurrency === 'auto' ? undefined : concurrency;
    const floorBatches = Math.min(FLOOR, maxConcurrency);
    this.#limiter = new QueueDelayLimiter({ floorBatches, ceilingBatches: maxConcurrency });
  }

  /** Slots for all endpoints that work now. */
  get slots(): number {
    if (this.#endpoints === 0) return 0;
    const wanted = this.#fixed === undefined ? this.#limiter.limit : this.#fixed * this.#endpoints;
    return Math.min(MAX_SLOTS, Math.max(1, Math.floor(wanted)));
  }

  shape({ endpoints, batchMs }: { endpoints: number; batchMs: number }): void {
    this.#endpoints = endpoints;
    if (endpoints > 0) this.#limiter.shape({ runners: endpoints, batchMs });
  }

  /** One batch more is sent, beside so many. */
  sending(inside: number): void {
    this.#limiter.admits({ insideBatches: inside, askedBatches: 1 });
  }

  /** A batch came back after so much more time than it takes alone. */
  waited(delayMs: number, now: Instant): void {
    this.#limiter.observed(Math.max(0, delayMs), now);
  }

  /** The endpoints say that they have too much to do. */
  refused(now: Instant): void {
    this.#limiter.observed(2 * this.#limiter.targetMs, now);
  }
}
