/** Answers that quantiles are taken over: a few seconds of traffic. */
const WINDOW_SIZE = 128;
/** With fewer, a quantile is an anecdote. */
const MIN_SAMPLES = 16;
/** Quantiles are computed anew after so many answers. */
const REFRESH_EVERY = 16;

/** Quantiles of the latest latencies. */
export class LatencyWindow {
  readonly #latencies: number[] = [];
  #at = 0;
  #sinceRefresh = REFRESH_EVERY;
  #sorted: readonly number[] = [];

  get count(): number {
    return this.#latencies.length;
  }

  add(latencyMs: number): void {
    this.#latencies[this.#at] = latencyMs;
    this.#at = (this.#at + 1) % WINDOW_SIZE;
    this.#sinceRefresh += 1;
  }

  /** Undefined until enough was seen. `ratio` in [0, 1]. */
  quantileMs(ratio: number): number | undefined {
    if (this.#latencies.length < MIN_SAMPLES) return undefined;
    if (this.#sinceRefresh >= REFRESH_EVERY) {
      this.#sorted = [...this.#latencies].sort((left, right) => left - right);
      this.#sinceRefresh = 0;
    }
    return this.#sorted[Math.min(this.#sorted.length - 1, Math.floor(ratio * this.#sorted.length))];
  }
}
