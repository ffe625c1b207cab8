/** Weight of the newest run. */
const LEARNING_RATIO = 0.1;
/** A run of more than so many full batches keeps its requests waiting longer than it saves. */
const MAX_STRETCH = 8;

/**
 * Decides how much larger than full a batch may be. Not at all, as long as the host sees at once that a run has ended.
 * Where it is late by several runs (its event loop is full of other requests), a runner with a full batch stands idle
 * most of the time, and the host would refuse for want of time what its idle runners could do: there, what waits runs
 * together, as many full batches as runs fit into the lateness.
 */
export class HostLag {
  #runMs = 0;
  #lagMs = 0;

  get ms(): number {
    return this.#lagMs;
  }

  /** Full batches in one run; at least 1. */
  get stretch(): number {
    if (this.#runMs <= 0) return 1;
    return Math.min(MAX_STRETCH, 1 + Math.floor(this.#lagMs / this.#runMs));
  }

  /** A run took so long, and the host saw its end so much later. */
  observed({ runMs, lagMs }: { readonly runMs: number; readonly lagMs: number }): void {
    this.#runMs += LEARNING_RATIO * (runMs - this.#runMs);
    this.#lagMs += LEARNING_RATIO * (lagMs - this.#lagMs);
  }
}
