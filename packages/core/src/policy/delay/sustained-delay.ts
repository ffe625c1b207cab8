import { type Instant, NEVER } from '../../base/time.ts';

export interface SustainedDelayOptions {
  /** Waits below this are no delay, in ms. */
  readonly targetMs: number;
  /** How long every wait must be over the target, in ms. */
  readonly intervalMs: number;
}

/**
 * Controlled delay: the target and the interval that Facebook's servers use for requests. Nichols and Jacobson,
 * "Controlling Queue Delay", ACM Queue 2012; Maurer, "Fail at Scale", ACM Queue 2015.
 */
export const DEFAULT_SUSTAINED_DELAY: SustainedDelayOptions = { targetMs: 60, intervalMs: 200 };

/** Waits are news for so many intervals. */
const MEMORY_INTERVALS = 2;

/**
 * Decides whether a queue stands: whether even the shortest wait stayed over the target for a whole interval. A burst
 * passes within the interval and is no overload; a standing queue only makes every answer late.
 *
 * Why this design: the shortest wait of an interval is the one signal that a burst can't raise. A mean or a maximum flips
 * at every burst.
 * Cold start: no delay. Recovery: one wait below the target, nothing waiting at all, or nothing seen for two intervals.
 */
export class SustainedDelay {
  #options: SustainedDelayOptions;
  /** Since when every wait has been over the target. */
  #overSince: Instant = NEVER;
  #lastSeen: Instant = -NEVER;

  constructor(options: SustainedDelayOptions = DEFAULT_SUSTAINED_DELAY) {
    this.#options = options;
  }

  /** The target grows with the time of one run, which every wait contains. */
  set options(options: SustainedDelayOptions) {
    this.#options = options;
  }

  get targetMs(): number {
    return this.#options.targetMs;
  }

  /** A work was taken from the queue, or is seen at its head, after so long. */
  waited(delayMs: number, now: Instant): void {
    // What was so an age ago says nothing of now.
    if (now - this.#lastSeen > this.#options.intervalMs * MEMORY_INTERVALS) this.#overSince = NEVER;
    this.#lastSeen = now;
    if (delayMs < this.#options.targetMs) this.#overSince = NEVER;
    else this.#overSince = Math.min(this.#overSince, now);
  }

  /** Nothing waits. */
  emptied(): void {
    this.#overSince = NEVER;
  }

  isSustained(now: Instant): boolean {
    const { intervalMs } = this.#options;
    return now - this.#overSince >= intervalMs && now - this.#lastSeen <= intervalMs * MEMORY_INTERVALS;
  }
}
