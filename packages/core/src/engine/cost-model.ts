import type { CostProfile } from '../contract/model.ts';

/** Weight of the newest batch: about the last fifty decide. */
const LEARNING_RATIO = 0.02;
/** One batch moves the model by no more than this factor of what was expected: a stall is not a new cost. */
const OUTLIER_FACTOR = 4;

/**
 * Decides what a run of n rows will take: `T(n) = fixed + perRow × n`.
 *
 * Why this design: the self-profile at load gives both terms; afterwards load, heat and neighbours change the machine's
 * speed more than the ratio of the terms, so each batch corrects one common factor, robustly: an observation counts
 * within a factor of four of the prediction. Cold start: the profile. Recovery: about fifty batches after a change.
 * Not counted: runs that failed or were killed.
 */
export class CostModel {
  #fixedMs: number;
  #perRowMs: number;
  #factor = 1;
  /** Mean absolute deviation, in parts of the prediction: the margin of admission. */
  #deviationRatio = 0.1;

  constructor(profile: Pick<CostProfile, 'fixedMs' | 'perRowMs'>) {
    this.#fixedMs = profile.fixedMs;
    this.#perRowMs = profile.perRowMs;
  }

  /** A fresh profile, from a runner that has just loaded. */
  reseed(profile: Pick<CostProfile, 'fixedMs' | 'perRowMs'>): void {
    this.#fixedMs = profile.fixedMs;
    this.#perRowMs = profile.perRowMs;
    this.#factor = 1;
  }

  get fixedMs(): number {
    return this.#fixedMs * this.#factor;
  }

  get perRowMs(): number {
    return this.#perRowMs * this.#factor;
  }

  get deviationRatio(): number {
    return this.#deviationRatio;
  }

  predictedMs(rows: number): number {
    return (this.#fixedMs + this.#perRowMs * rows) * this.#factor;
  }

  observed(rows: number, tookMs: number): void {
    const base = this.#fixedMs + this.#perRowMs * rows;
    if (base <= 0) return;
    const expected = base * this.#factor;
    const counted = Math.min(Math.max(tookMs, expected / OUTLIER_FACTOR), expected * OUTLIER_FACTOR);
    this.#factor += LEARNING_RATIO * (counted / base - this.#factor);
    this.#deviationRatio += LEARNING_RATIO * (Math.abs(counted - expected) / expected - this.#deviationRatio);
  }
}
