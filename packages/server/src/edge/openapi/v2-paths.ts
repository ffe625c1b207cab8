import type { ErrorCode, TensorSpec, VersionSpec } from '@gimbal/core';
import { counting } from '../front/model-example.ts';
import { errorReferences } from './error-responses.ts';
import { operationName } from './native-paths.ts';
import { componentSchema, type JsonObject, type JsonValue, jsonContent, openObject } from './schema.ts';

/** Elements of an example tensor; longer ones have no example. */
const MAX_EXAMPLE_ELEMENTS = 256;

const READING_CODES: readonly ErrorCode[] = [
  'MALFORMED_REQUEST',
  'INVALID_INPUT',
  'MODEL_NOT_FOUND',
  'MODEL_UNAVAILABLE',
  'INTERNAL',
];

const TAG = 'Open Inference Protocol V2';

export function v2Schemas(): JsonObject {
  const parameters = { type: 'object' };
  const shape = { type: 'array', items: { type: 'integer', minimum: 0 } };
  return {
    V2Tensor: openObject(
      {
        name: { type: 'string' },
        shape,
        datatype: { type: 'string' },
        parameters,
        data: { description: 'Row-major, nested or flat.' },
      },
      ['name', 'shape', 'datatype'],
    ),
    V2InferResponse: openObject(
      {
        model_name: { type: 'string' },
        model_version: { type: 'string' },
        id: { type: 'string' },
        parameters,
        outputs: { type: 'array', items: componentSchema('V2Tensor') },
      },
      ['model_name', 'outputs'],
    ),
    V2TensorMetadata: openObject(
      {
        name: { type: 'string' },
        datatype: { type: 'string' },
        shape: { type: 'array', items: { type: 'integer', minimum: -1 } },
      },
      ['name', 'datatype', 'shape'],
    ),
    V2ModelMetadata: openObject(
      {
        name: { type: 'string' },
        versions: { type: 'array', items: { type: 'string' } },
        platform: { type: 'string' },
        inputs: { type: 'array', items: componentSchema('V2TensorMetadata') },
        outputs: { type: 'array', items: componentSchema('V2TensorMetadata') },
      },
      ['name', 'inputs', 'outputs'],
    ),
    V2ServerMetadata: openObject(
      {
        name: { type: 'string' },
        version: { type: 'string' },
        extensions: { type: 'array', items: { type: 'string' } },
      },
      ['name', 'version', 'extensions'],
    ),
  };
}

/** The V2 paths: those of the server, and for each served model its own. */
export function v2Paths(specs: readonly VersionSpec[]): JsonObject {
  const paths: Record<string, JsonObject> = {
    '/v2': {
      get: reading('v2ServerMetadata', 'Name, version and extensions', componentSchema('V2ServerMetadata')),
    },
    '/v2/health/live': { get: probing('v2ServerLive', 'Is the server live?') },
    '/v2/health/ready': { get: probing('v2ServerReady', 'Are all required models ready?') },
    '/v2/models/stats': { get: reading('v2Statistics', 'Statistics of all models', { type: 'object' }) },
    '/v2/repository/index': { post: indexing() },
  };
  for (const spec of specs) Object.assign(paths, modelPaths(spec));
  return paths;
}

function modelPaths(spec: VersionSpec): JsonObject {
  const base = `/v2/models/${encodeURIComponent(spec.model)}`;
  const name = operationName(spec.model);
  return {
    [base]: {
      get: reading(
        `v2Metadata_${name}`,
        `Inputs and outputs of ${spec.model}`,
        componentSchema('V2ModelMetadata'),
      ),
    },
    [`${base}/ready`]: { get: probing(`v2Ready_${name}`, `Is ${spec.model} ready?`) },
    [`${base}/config`]: {
      get: reading(`v2Config_${name}`, `Configuration of ${spec.model}`, { type: 'object' }),
    },
    [`${base}/stats`]: { get: reading(`v2Stats_${name}`, `Statistics of ${spec.model}`, { type: 'object' }) },
    [`${base}/infer`]: { post: inferring(spec, name) },
  };
}

function inferring(spec: VersionSpec, name: string): JsonObject {
  const tensors = spec.signature.inputs.map((input) => exampleTensor(input));
  const hasExample = tensors.every((tensor) => tensor !== undefined);
  const example: JsonValue = { inputs: hasExample ? tensors.filter((tensor) => tensor !== undefined) : [] };
  const schema = openObject(
    {
      id: { type: 'string' },
      parameters: { type: 'object' },
      inputs: { type: 'array', items: componentSchema('V2Tensor') },
      outputs: { type: 'array', items: openObject({ name: { type: 'string' } }, ['name']) },
    },
    ['inputs'],
  );
  return {
    operationId: `v2Infer_${name}`,
    summary: `Tensors in, tensors out, of ${spec.model}`,
    tags: [TAG],
    requestBody: { required: true, content: jsonContent(schema, hasExample ? example : undefined) },
    responses: {
      200: {
        description: 'Output tensors, as JSON or with the binary tensor extension.',
        content: {
          ...jsonContent(componentSchema('V2InferResponse')),
          'application/octet-stream': { schema: { type: 'string', format: 'binary' } },
        },
      },
      ...errorReferences('v2'),
    },
  };
}

function reading(operationId: string, summary: string, schema: JsonObject): JsonObject {
  return {
    operationId,
    summary,
    tags: [TAG],
    responses: {
      200: { description: summary, content: jsonContent(schema) },
      ...errorReferences('v2', READING_CODES),
    },
  };
}

function probing(operationId: string, summary: string): JsonObject {
  return {
    operationId,
    summary,
    tags: [TAG],
    responses: {
      200: { description: 'Yes.', content: jsonContent({ type: 'object' }) },
      ...errorReferences('v2', READING_CODES),
    },
  };
}

function indexing(): JsonObject {
  const item = openObject(
    {
      name: { type: 'string' },
      version: { type: 'string' },
      state: { type: 'string' },
      reason: { type: 'string' },
    },
    ['name'],
  );
  return {
    operationId: 'v2RepositoryIndex',
    summary: 'All models of the repository, loaded or not',
    tags: [TAG],
    requestBody: { content: jsonContent(openObject({ ready: { type: 'boolean' } }, []), {}) },
    responses: {
      200: { description: 'The index.', content: jsonContent({ type: 'array', items: item }) },
      ...errorReferences('v2', [...READING_CODES, 'INPUT_TOO_LARGE', 'BODY_TIMEOUT', 'UNSUPPORTED']),
    },
  };
}

/** FP16 does not travel in JSON, and long tensors are no examples. */
function exampleTensor({ name, datatype, shape }: TensorSpec): JsonObject | undefined {
  const lengths = shape.map((length) => (length < 0 ? 1 : length));
  const count = lengths.reduce((product, length) => product * length, 1);
  if (datatype === 'FP16' || count > MAX_EXAMPLE_ELEMENTS) return undefined;
  return {
    name,
    shape: lengths,
    datatype,
    data: Array.from({ length: count }, counting(datatype)),
  };
}
