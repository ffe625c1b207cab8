import type { CatalogueEntry, VersionSpec } from '@gimbal/core';
import { defaultVersionOf } from '../front/model-summary.ts';
import type { EdgePorts } from '../route.ts';
import { answerSchemas } from './answer-schema.ts';
import { commonPaths, commonSchemas } from './common-paths.ts';
import { errorComponents, errorSchemas } from './error-responses.ts';
import { nativeModelPaths } from './native-paths.ts';
import type { JsonObject } from './schema.ts';
import { v2Paths, v2Schemas } from './v2-paths.ts';

/** The OpenAPI 3.1 document of what is served now: a path for each ready model, with its own schemas. */
export function openApiDocument(ports: EdgePorts): JsonObject {
  const { name, version } = ports.server;
  const specs = servedSpecs(ports.inference.catalogue());
  const { maxInputs } = ports.limits;
  return {
    openapi: '3.1.0',
    info: {
      title: `${name} model server`,
      version,
      description:
        'Generated from the models that are served. Errors of the native API are problem documents (RFC 9457); those of V2 are `{"error": …}`. Codes are explained at /docs.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [
      ...specs.map((spec) => ({ name: spec.model, description: spec.task })),
      { name: 'models' },
      { name: 'health' },
      { name: 'Open Inference Protocol V2' },
      { name: 'compatibility' },
    ],
    paths: { ...nativeModelPaths(specs, maxInputs), ...commonPaths(maxInputs), ...v2Paths(specs) },
    components: {
      schemas: { ...commonSchemas(), ...answerSchemas(), ...errorSchemas(), ...v2Schemas() },
      responses: errorComponents(),
      headers: headerComponents(),
      parameters: parameterComponents(),
    },
  };
}

/** The version of each model that takes requests now. */
function servedSpecs(catalogue: readonly CatalogueEntry[]): readonly VersionSpec[] {
  return catalogue
    .map(defaultVersionOf)
    .filter((version) => version?.state === 'ready')
    .map((version) => version?.spec)
    .filter((spec) => spec !== undefined);
}

function headerComponents(): JsonObject {
  const text = (description: string): JsonObject => ({ description, schema: { type: 'string' } });
  return {
    'X-Request-Id': text('The given id when it was well-formed, else a UUID of version 7.'),
    'Inference-Model': text('The model that answered.'),
    'Inference-Version': text('Its version.'),
    'Inference-Variant': text('The variant of the version.'),
    'Inference-Batch-Size': {
      description: 'Rows that ran together.',
      schema: { type: 'integer', minimum: 0 },
    },
    'Inference-Degraded': text(
      'Present when a lower rung of the ladder answered: `rung=2;reason="unavailable"`.',
    ),
    'Server-Timing': text('Milliseconds of each stage.'),
  };
}

function parameterComponents(): JsonObject {
  return {
    RequestId: header('X-Request-Id', 'Echoed in the answer and in the log.', {
      type: 'string',
      pattern: '^[A-Za-z0-9._-]{1,128}$',
    }),
    TimeoutMs: header('Inference-Timeout-Ms', 'Budget; work that can not make it is refused at once.', {
      type: 'integer',
      minimum: 1,
      maximum: 86_400_000,
    }),
    Criticality: header('Inference-Criticality', 'Which lane to wait in.', {
      type: 'string',
      enum: ['critical', 'default', 'sheddable'],
    }),
    TopK: query('top_k', { type: 'integer', minimum: 1, maximum: 100_000 }),
    Threshold: query('threshold', { type: 'number', minimum: 0, maximum: 1 }),
    TimeoutQuery: query('timeout_ms', { type: 'number', exclusiveMinimum: 0, maximum: 86_400_000 }),
  };
}

function header(name: string, description: string, schema: JsonObject): JsonObject {
  return { name, in: 'header', required: false, description, schema };
}

function query(name: string, schema: JsonObject): JsonObject {
  return { name, in: 'query', required: false, schema };
}
