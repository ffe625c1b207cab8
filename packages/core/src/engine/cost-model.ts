import type { CostProfile } from '../contract/model.ts';

export type CostLine = Pick<CostProfile, 'fixedMs' | 'perRowMs'>;

/** What one batch was made of, for the model to learn from. */
export interface ObservedBatch {
  /** Cost of its rows in rows of the profile. */
  readonly units: number;
  /** Of all its rows; undefined when they differ. */
  readonly costClass: number | undefined;
}

/** Weight of the newest batch: about the last fifty decide. */
const LEARNING_RATIO = 0.02;
/** One batch moves the model by no more than this factor of what was expected: a stall is not a new cost. */
const OUTLIER_FACTOR = 4;
/** Runs that seem to take no time must not teach the model that nothing ever will. */
const MIN_FACTOR = 0.001;
/** Prediction error before any was seen. */
const FIRST_DEVIATION_RATIO = 0.1;
/** The way to a runner and back is part of the fixed cost of a run; a few times that is no news. */
const TRANSPORT_FACTOR = 4;
/** Classes are powers of two of a size in bytes, so these are all that can come. */
const MAX_CLASSES = 64;

/** What rows of one class cost, in rows of the profile. */
interface ClassCost {
  factor: number;
  batches: number;
}

/**
 * Decides what a run will take: `T = fixed + perRow × units`, where a row counts as many units as rows of its cost class
 * (about equal sizes of photos or texts) have turned out to cost.
 *
 * Why this design: the self-profile at load gives both terms; afterwards load, heat and neighbours change the machine's
 * speed more than the ratio of the terms, so each batch corrects one common factor, robustly: an observation counts
 * within a factor of four of the prediction. Least squares over recent batches was tried: under load batches grow and
 * the machine slows down at once, and it takes the one for the cause of the other. A batch of one class corrects its
 * class as well, the first ones by more.
 * Cold start: the profile; a new class costs what the nearest known one does. Recovery: about fifty batches after a
 * change. Not counted: runs that failed or were killed.
 */
export class CostModel {
  #line: CostLine = { fixedMs: 0, perRowMs: 0 };
  #factor = 1;
  #deviationRatio = FIRST_DEVIATION_RATIO;
  readonly #classes = new Map<number, ClassCost>();

  get fixedMs(): number {
    return this.#line.fixedMs * this.#factor;
  }

  get perRowMs(): number {
    return this.#line.perRowMs * this.#factor;
  }

  /** Mean absolute error, in parts of the prediction: the margin of admission, at most one prediction more. */
  get deviationRatio(): number {
    return Math.min(1, this.#deviationRatio);
  }

  /** What the way to a runner and back may add to a run, whatever was learned since the profile. */
  get transportMs(): number {
    return TRANSPORT_FACTOR * this.#line.fixedMs;
  }

  /** The profile of a runner that has just loaded. The same one again, after a restart, unlearns nothing. */
  seed({ fixedMs, perRowMs }: CostLine): void {
    if (fixedMs === this.#line.fixedMs && perRowMs === this.#line.perRowMs) return;
    this.#line = { fixedMs, perRowMs };
    this.#factor = 1;
    this.#deviationRatio = FIRST_DEVIATION_RATIO;
    this.#classes.clear();
  }

  /** Cost classes that it tells apart. */
  get classes(): number {
    return this.#classes.size;
  }

  /** Units that one row of a class counts for. */
  unitsPerRow(costClass: number): number {
    return (this.#classes.get(costClass) ?? this.#nearest(costClass))?.factor ?? 1;
  }

  predictedMs(units: number): number {
    return (this.#line.fixedMs + this.#line.perRowMs * units) * this.#factor;
  }

  /**
   * What a run can hardly be faster than: half of the profile, or of what was learned when that is less. Beside an idle
   * runner only works that can't make this are refused, so that a model that was measured too slow can learn.
   */
  leastMs(units: number): number {
    return ((this.#line.fixedMs + this.#line.perRowMs * units) * Math.min(1, this.#factor)) / 2;
  }

  observed({ units, costClass }: ObservedBatch, tookMs: number): void {
    const expectedMs = this.predictedMs(units);
    if (!(expectedMs > 0 && tookMs >= 0)) return;
    const ratio = Math.min(Math.max(tookMs / expectedMs, 1 / OUTLIER_FACTOR), OUTLIER_FACTOR);
    this.#factor = Math.max(MIN_FACTOR, this.#factor * (1 + LEARNING_RATIO * (ratio - 1)));
    this.#deviationRatio += LEARNING_RATIO * (Math.abs(ratio - 1) - this.#deviationRatio);
    if (costClass !== undefined) this.#classObserved(costClass, ratio);
  }

  #classObserved(costClass: number, ratio: number): void {
    let cost = this.#classes.get(costClass);
    if (!cost) {
      if (this.#classes.size >= MAX_CLASSES) return;
      cost = { factor: this.unitsPerRow(costClass), batches: 0 };
      this.#classes.set(costClass, cost);
    }
    // The only class is what the common factor is about.
    if (this.#classes.size === 1) return;
    cost.batches += 1;
    const weight = Math.max(LEARNING_RATIO, 1 / (cost.batches + 1));
    cost.factor = Math.max(MIN_FACTOR, cost.factor * (1 + weight * (ratio - 1)));
  }

  #nearest(costClass: number): ClassCost | undefined {
    let best: ClassCost | undefined;
    let bestDistance = Infinity;
    for (const [known, cost] of this.#classes) {
      const distance = Math.abs(known - costClass);
      if (distance >= bestDistance) continue;
      best = cost;
      bestDistance = distance;
    }
    return best;
  }
}
