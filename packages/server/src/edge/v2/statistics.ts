import type { DurationStatistic, VersionView } from '@gimbal/core';

const NEVER_USED: DurationStatistic = { count: 0, ns: 0n };

/** The statistics extension's record of one version; load tools read every field without asking whether it is there. */
export function statisticsOf({ spec, statistics }: VersionView): object {
  const { success, fail, queue, computeInput, computeInfer, computeOutput } = statistics;
  return {
    name: spec.model,
    version: spec.version,
    last_inference: statistics.lastInferenceMs,
    inference_count: statistics.inferenceCount,
    execution_count: statistics.executionCount,
    inference_stats: {
      success: duration(success),
      fail: duration(fail),
      queue: duration(queue),
      compute_input: duration(computeInput),
      compute_infer: duration(computeInfer),
      compute_output: duration(computeOutput),
      cache_hit: duration(NEVER_USED),
      cache_miss: duration(NEVER_USED),
    },
    response_stats: {},
    batch_stats: statistics.batches.map((batch) => ({
      batch_size: batch.rows,
      compute_input: duration(batch.computeInput),
      compute_infer: duration(batch.computeInfer),
      compute_output: duration(batch.computeOutput),
    })),
    memory_usage: [],
  };
}

/** Nanoseconds of a server's life fit a double exactly for 104 days; beyond, the last digits are rounded. */
function duration({ count, ns }: DurationStatistic): { count: number; ns: number } {
  return { count, ns: Number(ns) };
}
