/** Most that can be saved up: after a quiet night, an outage must not meet a hoard. */
const MAX_SAVED = 100;

export interface AttemptBudgetOptions {
  /** Further attempts as a share of batches, in [0, 1]. */
  readonly ratio: number;
  /** What there is before any traffic. */
  readonly floor: number;
}

/**
 * Decides whether one more attempt may be made: each batch earns a share of one, each further attempt costs a whole
 * one. So retries are bounded in parts of the traffic whatever fails (Google SRE Book, "Handling Overload").
 */
export class AttemptBudget {
  readonly #ratio: number;
  #tokens: number;

  constructor({ ratio, floor }: AttemptBudgetOptions) {
    this.#ratio = ratio;
    this.#tokens = ratio > 0 ? floor : 0;
  }

  /** A batch has begun. */
  earn(): void {
    this.#tokens = Math.min(MAX_SAVED, this.#tokens + this.#ratio);
  }

  /** Takes one attempt, if it is there. */
  spend(): boolean {
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
