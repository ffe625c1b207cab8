import type { CatalogueEntry, DurationStatistic, TensorSpec, VersionState, VersionView } from '@gimbal/core';
import type { Message } from './protocol.ts';

/** What clients take for the kind of our engine. As in V2 over REST, like all of this file. */
const PLATFORM = 'onnxruntime_onnx';

const NEVER_USED: DurationStatistic = { count: 0, ns: 0n };

const STATES: Readonly<Record<VersionState, string>> = {
  loading: 'LOADING',
  ready: 'READY',
  unloading: 'UNLOADING',
  unavailable: 'UNAVAILABLE',
};

/** `ModelMetadataResponse` */
export function metadataDocument({ spec }: VersionView, catalogue: readonly CatalogueEntry[]): Message {
  const versions = catalogue.find(({ model }) => model === spec.model)?.versions ?? [];
  const tensor = ({ name, datatype, shape }: TensorSpec): Message => ({ name, datatype, shape });
  return {
    name: spec.model,
    versions: versions.filter(({ state }) => state === 'ready').map((version) => version.spec.version),
    platform: PLATFORM,
    inputs: spec.signature.inputs.map(tensor),
    outputs: spec.signature.outputs.map(tensor),
  };
}

/** `ModelConfig` as far as load tools and clients read it. */
export function configurationDocument({ spec, maxRows }: VersionView): Message {
  const batches = spec.signature.batchAxis === 'dynamic';
  const tensor = ({ name, datatype, shape }: TensorSpec): Message => ({
    name,
    data_type: `TYPE_${datatype === 'BYTES' ? 'STRING' : datatype}`,
    dims: batches ? shape.slice(1) : shape,
  });
  return {
    name: spec.model,
    platform: PLATFORM,
    backend: 'onnxruntime',
    version_policy: { all: {} },
    max_batch_size: batches ? Math.max(1, maxRows) : 0,
    input: spec.signature.inputs.map(tensor),
    output: spec.signature.outputs.map(tensor),
    ...(batches
      ? {
          dynamic_batching: {
            preferred_batch_size: spec.batching.preferredSizes,
            max_queue_delay_microseconds: String(Math.round(spec.batching.maxDelayMs * 1000)),
          },
        }
      : {}),
    instance_group: [{ name: spec.model, kind: 'KIND_CPU', count: spec.runners.count, gpus: [] }],
    default_model_filename: 'model.onnx',
    model_transaction_policy: { decoupled: false },
    response_cache: { enable: false },
  };
}

/** `ModelStatistics` */
export function statisticsDocument({ spec, statistics }: VersionView): Message {
  const { success, fail, queue, computeInput, computeInfer, computeOutput } = statistics;
  return {
    name: spec.model,
    version: spec.version,
    last_inference: String(Math.round(statistics.lastInferenceMs)),
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
    batch_stats: statistics.batches.map((batch) => ({
      batch_size: batch.rows,
      compute_input: duration(batch.computeInput),
      compute_infer: duration(batch.computeInfer),
      compute_output: duration(batch.computeOutput),
    })),
  };
}

/** `RepositoryIndexResponse.ModelIndex` of each version; a model without any has its name alone. */
export function indexDocuments({ model, versions, failures }: CatalogueEntry): readonly Message[] {
  const entries: Message[] = [
    ...versions.map(({ spec, state, reason }) => ({
      name: model,
      version: spec.version,
      state: STATES[state],
      reason: reason ?? '',
    })),
    ...failures.map(({ version, reason }) => ({ name: model, version, state: 'UNAVAILABLE', reason })),
  ];
  return entries.length > 0 ? entries : [{ name: model }];
}

function duration({ count, ns }: DurationStatistic): Message {
  return { count, ns: String(ns) };
}
