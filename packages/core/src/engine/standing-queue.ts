import type { Instant } from '../base/time.ts';
import type { Criticality } from '../contract/inference-port.ts';
import { DEFAULT_SUSTAINED_DELAY, SustainedDelay } from '../policy/delay/sustained-delay.ts';

/** A wait of so many runs is no delay: one of them is running, one is being gathered. */
const TARGET_RUNS = 2;

/**
 * Which lanes have a queue that stands, by the waits of works whose callers did not say how long they wait. Where they
 * did, the deadline bounds the queue, and a long one is what they asked for.
 */
export class StandingQueue {
  readonly #lanes: Readonly<Record<Criticality, SustainedDelay>> = {
    critical: new SustainedDelay(),
    default: new SustainedDelay(),
    sheddable: new SustainedDelay(),
  };
  #options = DEFAULT_SUSTAINED_DELAY;

  /** While a queue stands, works are admitted up to this wait. */
  get targetMs(): number {
    return this.#options.targetMs;
  }

  /** While a queue stands, works that are older are given up: it was made by those. */
  get maxAgeMs(): number {
    return this.#options.targetMs + this.#options.intervalMs;
  }

  /** What counts as a delay depends on how long one full run takes. */
  scale(runMs: number): void {
    const targetMs = Math.max(DEFAULT_SUSTAINED_DELAY.targetMs, TARGET_RUNS * runMs);
    if (Math.abs(targetMs - this.#options.targetMs) < 1) return;
    const { intervalMs, targetMs: leastMs } = DEFAULT_SUSTAINED_DELAY;
    this.#options = { targetMs, intervalMs: (intervalMs * targetMs) / leastMs };
    for (const lane of Object.values(this.#lanes)) lane.options = this.#options;
  }

  waited(lane: Criticality, delayMs: number, now: Instant): void {
    this.#lanes[lane].waited(delayMs, now);
  }

  emptied(lane: Criticality): void {
    this.#lanes[lane].emptied();
  }

  stands(lane: Criticality, now: Instant): boolean {
    return this.#lanes[lane].isSustained(now);
  }
}
