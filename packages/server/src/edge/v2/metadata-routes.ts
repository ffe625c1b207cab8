import type { CatalogueEntry, TensorSpec, VersionView } from '@gimbal/core';
import { answerJson } from '../front/simple-answers.ts';
import type { EdgePorts, EdgeRequest } from '../route.ts';
import { statisticsOf } from './statistics.ts';
import { type V2Route, v2Route, v2Routes } from './v2-route.ts';

/** Protocol extensions that are served; clients choose by them. */
const EXTENSIONS = [
  'binary_tensor_data',
  'classification',
  'model_configuration',
  'model_repository',
  'parameters',
  'statistics',
];

/** What clients take for the kind of our engine. */
const PLATFORM = 'onnxruntime_onnx';

/** Metadata, configuration and statistics of server and models. */
export function metadataRoutes({ inference, server }: EdgePorts): V2Route[] {
  const found = (request: EdgeRequest): VersionView =>
    inference.find(request.parameters.model ?? '', request.parameters.version);
  return [
    v2Route('GET', '/v2', (request) =>
      answerJson(request, { name: server.name, version: server.version, extensions: EXTENSIONS }),
    ),
    v2Route('GET', '/v2/models', (request) =>
      answerJson(request, { models: inference.catalogue().map(({ model }) => model) }),
    ),
    v2Route('GET', '/v2/models/stats', (request) =>
      answerJson(request, {
        model_stats: inference
          .catalogue()
          .flatMap(({ versions }) => versions)
          .map(statisticsOf),
      }),
    ),
    ...v2Routes('GET', '/v2/models/{model}', [
      ['', (request) => answerJson(request, metadataOf(found(request), inference.catalogue()))],
      ['/config', (request) => answerJson(request, configurationOf(found(request)))],
      ['/stats', (request) => answerJson(request, { model_stats: [statisticsOf(found(request))] })],
    ]),
  ];
}

function metadataOf({ spec }: VersionView, catalogue: readonly CatalogueEntry[]): object {
  const versions = catalogue.find(({ model }) => model === spec.model)?.versions ?? [];
  const tensor = ({ name, datatype, shape }: TensorSpec): object => ({ name, datatype, shape });
  return {
    name: spec.model,
    versions: versions.filter(({ state }) => state === 'ready').map((version) => version.spec.version),
    platform: PLATFORM,
    inputs: spec.signature.inputs.map(tensor),
    outputs: spec.signature.outputs.map(tensor),
  };
}

/** Triton's ModelConfig as far as load tools and clients read it. */
function configurationOf({ spec, maxRows }: VersionView): object {
  const batches = spec.signature.batchAxis === 'dynamic';
  const tensor = ({ name, datatype, shape }: TensorSpec): object => ({
    name,
    data_type: `TYPE_${datatype === 'BYTES' ? 'STRING' : datatype}`,
    format: 'FORMAT_NONE',
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
            max_queue_delay_microseconds: Math.round(spec.batching.maxDelayMs * 1000),
          },
        }
      : {}),
    instance_group: [{ name: spec.model, kind: 'KIND_CPU', count: spec.runners.count, gpus: [] }],
    default_model_filename: 'model.onnx',
    parameters: {},
    model_transaction_policy: { decoupled: false },
    response_cache: { enable: false },
  };
}
