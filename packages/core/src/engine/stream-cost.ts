import type { CostModel } from './cost-model.ts';

/** Weight of the newest stream. */
const LEARNING_RATIO = 0.1;

/**
 * Decides what a stream will take: until its first piece, which its deadline is about, and until its end, for which its
 * runner is busy.
 *
 * Why this design: the two have nothing to do with each other, and neither with the rows: how long a stream is depends on
 * what the model has to say and on how fast it is read. So each is a moving average, and the whole becomes the fixed cost
 * of a run in the cost model, where those that wait look for it.
 * Cold start: the self-profile, for both. Not counted: streams without a piece.
 */
export class StreamCost {
  readonly #cost: CostModel;
  #firstMs: number | undefined;
  #wholeMs: number | undefined;

  constructor(cost: CostModel) {
    this.#cost = cost;
  }

  /** Whether it knows better than a profile. */
  get learned(): boolean {
    return this.#wholeMs !== undefined;
  }

  /** Until the first piece; undefined before one was seen. */
  get firstMs(): number | undefined {
    return this.#firstMs;
  }

  firstPiece(tookMs: number): void {
    this.#firstMs = moved(this.#firstMs, tookMs);
  }

  ended(tookMs: number): void {
    this.#wholeMs = moved(this.#wholeMs, tookMs);
    this.#cost.seed({ fixedMs: this.#wholeMs, perRowMs: 0 });
  }
}

function moved(average: number | undefined, value: number): number {
  return average === undefined ? value : average + LEARNING_RATIO * (value - average);
}
