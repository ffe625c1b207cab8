export interface BudgetLimits {
  /** Share of the calls that may be tried once more. */
  readonly ratio: number;
  /** Tries that are there whatever the traffic; they come back one a second. 0 for none. */
  readonly floor: number;
}

/** Calls whose unused share is kept: an old quiet hour must not pay for a storm now. */
const KEPT_CALLS = 200;
const FLOOR_REFILL_MS = 1000;

/**
 * Bounds further tries to a share of the calls of a client. Without it every client of a failing server multiplies its
 * load by `1 + maxRetries`, and keeps it down (https://sre.google/sre-book/handling-overload/, "per-client retry budget").
 */
export class TokenBudget {
  readonly #limits: BudgetLimits;
  #earned = 0;
  #floor: number;
  #refilledAt: number;

  constructor(limits: BudgetLimits, now: number) {
    this.#limits = limits;
    this.#floor = limits.floor;
    this.#refilledAt = now;
  }

  /** A call has begun. */
  earn(): void {
    const { ratio } = this.#limits;
    this.#earned = Math.min(this.#earned + ratio, KEPT_CALLS * ratio);
  }

  /** Takes one further try; false when there is none left. */
  take(now: number): boolean {
    this.#refill(now);
    // Sums of tenths fall short of whole numbers by a hair.
    if (this.#earned + 1e-9 >= 1) this.#earned -= 1;
    else if (this.#floor >= 1) this.#floor -= 1;
    else return false;
    return true;
  }

  #refill(now: number): void {
    const periods = Math.floor((now - this.#refilledAt) / FLOOR_REFILL_MS);
    if (periods <= 0) return;
    this.#refilledAt += periods * FLOOR_REFILL_MS;
    this.#floor = Math.min(this.#limits.floor, this.#floor + periods);
  }
}
