import type { Instant } from '../base/time.ts';

/** Weight of the newest stretch when more is asked for: down fast. */
const RISING_RATIO = 0.5;
/** And when less is: up slowly. */
const FALLING_RATIO = 0.15;
/** A refusal for want of time counts as a wait of this share of the patience. */
const REFUSED_PRESSURE = 1.5;
const MAX_PRESSURE = 2;

/** What was asked of a version lately, refused or not: what the shares of its ladder follow. */
export class LadderDemand {
  #rows = 0;
  #pinnedMs = 0;
  #pressureSum = 0;
  #asked = 0;
  #readAt: Instant | undefined;
  #rowsPerSecond = 0;
  #pinnedMsPerSecond = 0;

  /** A work that may run on any rung. */
  asked(rows: number): void {
    this.#rows += rows;
  }

  /** A work that insists on the best rung, with the time that it takes there. */
  pinned(ms: number): void {
    this.#pinnedMs += ms;
  }

  /** A work was taken: how much of its patience waiting will use. */
  waits(ratio: number): void {
    this.#asked += 1;
    this.#pressureSum += Math.min(Math.max(ratio, 0), MAX_PRESSURE);
  }

  /** A work was refused, since it would have been late. */
  refused(): void {
    this.#asked += 1;
    this.#pressureSum += REFUSED_PRESSURE;
  }

  /** Rates and pressure up to now; begins the next stretch. */
  read(now: Instant): { rowsPerSecond: number; pinnedMsPerSecond: number; pressureRatio: number } {
    const seconds = this.#readAt === undefined ? 0 : (now - this.#readAt) / 1000;
    this.#readAt = now;
    if (seconds > 0) {
      this.#rowsPerSecond = follow(this.#rowsPerSecond, this.#rows / seconds);
      this.#pinnedMsPerSecond = follow(this.#pinnedMsPerSecond, this.#pinnedMs / seconds);
    }
    const pressureRatio = this.#asked === 0 ? 0 : this.#pressureSum / this.#asked;
    this.#rows = 0;
    this.#pinnedMs = 0;
    this.#asked = 0;
    this.#pressureSum = 0;
    return {
      rowsPerSecond: this.#rowsPerSecond,
      pinnedMsPerSecond: this.#pinnedMsPerSecond,
      pressureRatio,
    };
  }
}

function follow(average: number, value: number): number {
  return average + (value > average ? RISING_RATIO : FALLING_RATIO) * (value - average);
}
