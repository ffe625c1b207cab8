/** Latencies that a quantile is taken of: enough for a p95, few enough to follow a change. */
const WINDOW = 128;
/** With fewer the p95 is a guess. */
const MIN_SAMPLES = 20;
const QUANTILE = 0.95;
/** Latencies after which the quantile is computed anew: sorting at each would cost more than the answer is worth. */
const RENEWAL = 8;
/** Models of one client; the one that was not used for longest is forgotten. */
const MAX_MODELS = 64;

/** The p95 of the last attempts that succeeded. */
export class LatencyWindow {
  readonly #samples: number[] = [];
  #next = 0;
  #sinceRenewal = 0;
  #p95: number | undefined;

  add(latencyMs: number): void {
    this.#samples[this.#next] = latencyMs;
    this.#next = (this.#next + 1) % WINDOW;
    this.#sinceRenewal += 1;
    if (this.#samples.length < MIN_SAMPLES) return;
    if (this.#p95 !== undefined && this.#sinceRenewal < RENEWAL) return;
    this.#sinceRenewal = 0;
    const sorted = [...this.#samples].sort((left, right) => left - right);
    this.#p95 = sorted[Math.ceil(QUANTILE * sorted.length) - 1];
  }

  /** Undefined until enough has been seen. */
  get p95(): number | undefined {
    return this.#p95;
  }
}

/** One window a model: a hedge for a slow model must not wait for a quick one's p95. */
export class LatencyWindows {
  readonly #windows = new Map<string, LatencyWindow>();

  of(model: string): LatencyWindow {
    const known = this.#windows.get(model) ?? new LatencyWindow();
    this.#windows.delete(model);
    this.#windows.set(model, known);
    if (this.#windows.size > MAX_MODELS) {
      for (const [oldest] of this.#windows) {
        this.#windows.delete(oldest);
        break;
      }
    }
    return known;
  }
}
