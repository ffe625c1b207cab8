import type { DurationStatistic, StageTimings, VersionStatistics } from '@gimbal/core';

/** Batch sizes that are counted apart; larger ones share the last entry. */
const MAX_BATCH_ENTRIES = 256;

class Duration {
  count = 0;
  totalMs = 0;

  add(count: number, ms: number): void {
    this.count += count;
    this.totalMs += ms;
  }

  view(): DurationStatistic {
    return { count: this.count, ns: BigInt(Math.round(this.totalMs * 1e6)) };
  }
}

class BatchCounter {
  readonly input = new Duration();
  readonly infer = new Duration();
  readonly output = new Duration();
}

/** What one version has done since it was loaded, in the terms of the V2 statistics extension. */
export class VersionCounters {
  #lastInferenceMs = 0;
  #inferences = 0;
  #executions = 0;
  readonly #success = new Duration();
  readonly #fail = new Duration();
  readonly #queue = new Duration();
  readonly #input = new Duration();
  readonly #infer = new Duration();
  readonly #output = new Duration();
  readonly #batches = new Map<number, BatchCounter>();

  /** One run of a runner. */
  executed(run: {
    rows: number;
    preprocessMs: number;
    inferMs: number;
    postprocessMs: number;
    wallTimeMs: number;
  }): void {
    this.#executions += 1;
    this.#lastInferenceMs = run.wallTimeMs;
    const batch = this.#batch(Math.min(run.rows, MAX_BATCH_ENTRIES));
    batch.input.add(1, run.preprocessMs);
    batch.infer.add(1, run.inferMs);
    batch.output.add(1, run.postprocessMs);
  }

  succeeded(rows: number, timings: StageTimings, totalMs: number): void {
    this.#inferences += rows;
    this.#success.add(1, totalMs);
    this.#queue.add(1, timings.queueMs);
    this.#input.add(1, timings.preprocessMs);
    this.#infer.add(1, timings.inferMs);
    this.#output.add(1, timings.postprocessMs);
  }

  failed(totalMs: number): void {
    this.#fail.add(1, totalMs);
  }

  view(): VersionStatistics {
    return {
      lastInferenceMs: Math.round(this.#lastInferenceMs),
      inferenceCount: this.#inferences,
      executionCount: this.#executions,
      success: this.#success.view(),
      fail: this.#fail.view(),
      queue: this.#queue.view(),
      computeInput: this.#input.view(),
      computeInfer: this.#infer.view(),
      computeOutput: this.#output.view(),
      batches: [...this.#batches.entries()]
        .sort(([left], [right]) => left - right)
        .map(([rows, batch]) => ({
          rows,
          computeInput: batch.input.view(),
          computeInfer: batch.infer.view(),
          computeOutput: batch.output.view(),
        })),
    };
  }

  #batch(rows: number): BatchCounter {
    let batch = this.#batches.get(rows);
    if (!batch) {
      batch = new BatchCounter();
      this.#batches.set(rows, batch);
    }
    return batch;
  }
}
