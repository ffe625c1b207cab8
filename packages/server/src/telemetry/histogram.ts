/** The trace that a bucket was last hit by; OpenMetrics shows it beside the bucket. */
export interface Exemplar {
  readonly traceId: string;
  readonly value: number;
  readonly wallTimeMs: number;
}

/**
 * A fixed-bucket histogram in typed arrays: an observation is a short scan and two additions, nothing is allocated.
 * `counts` holds one number per bucket (not cumulated), the last one is the bucket above all bounds.
 */
export class Histogram {
  /** Ready to print: `model="a",version="1"`. */
  readonly labels: string;
  readonly bounds: readonly number[];
  readonly counts: Float64Array;
  exemplars: (Exemplar | undefined)[] | undefined;
  sum = 0;

  constructor(labels: string, bounds: readonly number[]) {
    this.labels = labels;
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  /** A value that is no finite number, or negative (a clock that stepped), counts as 0: one of them must not ruin the sum. */
  observe(value: number): void {
    const safe = value > 0 && value < Number.POSITIVE_INFINITY ? value : 0;
    const bucket = this.#bucketOf(safe);
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.sum += safe;
  }

  remember(exemplar: Exemplar): void {
    this.exemplars ??= new Array<Exemplar | undefined>(this.counts.length).fill(undefined);
    this.exemplars[this.#bucketOf(exemplar.value)] = exemplar;
  }

  get count(): number {
    let total = 0;
    for (const count of this.counts) total += count;
    return total;
  }

  #bucketOf(value: number): number {
    const { bounds } = this;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket += 1;
    return bucket;
  }
}
