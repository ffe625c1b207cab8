import type { CostProfile } from '../contract/model.ts';

export type CostLine = Pick<CostProfile, 'fixedMs' | 'perRowMs'>;

/** Weight of the newest batch: about the last fifty decide. */
const LEARNING_RATIO = 0.02;
/** One batch moves the model by no more than this factor of what was expected: a stall is not a new cost. */
const OUTLIER_FACTOR = 4;
/** Runs that seem to take no time must not teach the model that nothing ever will. */
const MIN_FACTOR = 0.001;
/** Prediction error before any was seen. */
const FIRST_DEVIATION_RATIO = 0.1;

/**
 * Decides what a run of n rows will take: `T(n) = fixed + perRow × n`.
 *
 * Why this design: the self-profile at load gives both terms; afterwards load, heat and neighbours change the machine's
 * speed more than the ratio of the terms, so each batch corrects one common factor, robustly: an observation counts
 * within a factor of four of the prediction. Least squares over recent batches was tried: under load batches grow and
 * the machine slows down at once, and it takes the one for the cause of the other.
 * Cold start: the profile. Recovery: about fifty batches after a change. Not counted: runs that failed or were killed.
 */
export class CostModel {
  #line: CostLine = { fixedMs: 0, perRowMs: 0 };
  #factor = 1;
  #deviationRatio = FIRST_DEVIATION_RATIO;

  get fixedMs(): number {
    return this.#line.fixedMs * this.#factor;
  }

  get perRowMs(): number {
    return this.#line.perRowMs * this.#factor;
  }

  /** Mean absolute error, in parts of the prediction: the margin of admission. */
  get deviationRatio(): number {
    return this.#deviationRatio;
  }

  /** The profile of a runner that has just loaded. The same one again, after a restart, unlearns nothing. */
  seed({ fixedMs, perRowMs }: CostLine): void {
    if (fixedMs === this.#line.fixedMs && perRowMs === this.#line.perRowMs) return;
    this.#line = { fixedMs, perRowMs };
    this.#factor = 1;
    this.#deviationRatio = FIRST_DEVIATION_RATIO;
  }

  predictedMs(rows: number): number {
    return (this.#line.fixedMs + this.#line.perRowMs * rows) * this.#factor;
  }

  /**
   * What a run can hardly be faster than: half of the profile, or of what was learned when that is less. Beside an idle
   * runner only works that can't make this are refused, so that a model that was measured too slow can learn.
   */
  leastMs(rows: number): number {
    return ((this.#line.fixedMs + this.#line.perRowMs * rows) * Math.min(1, this.#factor)) / 2;
  }

  observed(rows: number, tookMs: number): void {
    const expectedMs = this.predictedMs(rows);
    if (!(expectedMs > 0 && tookMs >= 0)) return;
    const ratio = Math.min(Math.max(tookMs / expectedMs, 1 / OUTLIER_FACTOR), OUTLIER_FACTOR);
    this.#factor = Math.max(MIN_FACTOR, this.#factor * (1 + LEARNING_RATIO * (ratio - 1)));
    this.#deviationRatio += LEARNING_RATIO * (Math.abs(ratio - 1) - this.#deviationRatio);
  }
}
