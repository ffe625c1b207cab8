import { errorReferences } from './error-responses.ts';
import { closedObject, componentSchema, type JsonObject, jsonContent, openObject } from './schema.ts';

const HEALTH = 'health';
const MODELS = 'models';
const COMPATIBILITY = 'compatibility';

/** Paths that are the same whatever is served. */
export function commonPaths(maxInputs: number): JsonObject {
  return {
    '/v1/models': {
      get: {
        operationId: 'listModels',
        summary: 'All models with their versions and states',
        tags: [MODELS],
        responses: {
          200: {
            description: 'The models.',
            content: jsonContent(
              openObject({ models: { type: 'array', items: componentSchema('ModelSummary') } }, ['models']),
            ),
          },
          ...errorReferences('problem', ['MALFORMED_REQUEST', 'INVALID_INPUT', 'INTERNAL']),
        },
      },
    },
    '/v1/models/{model}': {
      get: {
        operationId: 'describeModel',
        summary: 'One model: signature, limits, profile, derivations, examples',
        tags: [MODELS],
        parameters: [{ name: 'model', in: 'path', required: true, schema: { type: 'string', minLength: 1 } }],
        responses: {
          200: { description: 'The model.', content: jsonContent(componentSchema('ModelSummary')) },
          ...errorReferences('problem', [
            'MALFORMED_REQUEST',
            'INVALID_INPUT',
            'MODEL_NOT_FOUND',
            'INTERNAL',
          ]),
        },
      },
    },
    '/livez': { get: health('livez', 'The process answers; models are not asked') },
    '/readyz': { get: health('readyz', 'Every required model is ready and the server is not draining') },
    '/startupz': { get: health('startupz', 'The server has been ready once') },
    '/health': { get: health('health', 'The same as /readyz') },
    '/healthz': { get: health('healthz', 'The same as /livez') },
    ...compatibilityPaths(maxInputs),
  };
}

export function commonSchemas(): JsonObject {
  return {
    ModelSummary: openObject(
      {
        name: { type: 'string' },
        task: { type: ['string', 'null'] },
        state: { type: 'string', enum: ['loading', 'ready', 'unloading', 'unavailable'] },
        default_version: { type: ['string', 'null'] },
        versions: { type: 'array', items: { type: 'object' } },
        failures: { type: 'array', items: { type: 'object' } },
      },
      ['name', 'task', 'state', 'default_version', 'versions', 'failures'],
    ),
    Health: openObject({ status: { type: 'string', enum: ['pass', 'fail'] }, checks: { type: 'object' } }, [
      'status',
      'checks',
    ]),
    Parameters: closedObject(
      {
        top_k: { type: 'integer', minimum: 1, maximum: 100_000 },
        threshold: { type: 'number', minimum: 0, maximum: 1 },
        timeout_ms: { type: 'number', exclusiveMinimum: 0, maximum: 86_400_000 },
      },
      [],
    ),
  };
}

function health(operationId: string, summary: string): JsonObject {
  const content = { 'application/health+json': { schema: componentSchema('Health') } };
  return {
    operationId,
    summary,
    tags: [HEALTH],
    responses: {
      200: { description: 'Yes.', content },
      503: {
        description: 'No.',
        headers: { 'Retry-After': { schema: { type: 'integer', minimum: 1 } } },
        content,
      },
      ...errorReferences('problem', ['MALFORMED_REQUEST', 'INVALID_INPUT']),
    },
  };
}

function compatibilityPaths(maxInputs: number): JsonObject {
  const base64 = { type: 'string', description: 'A picture as base64.' };
  const threshold = { type: 'number', minimum: 0, maximum: 1 };
  const topK = { type: 'integer', minimum: 1, maximum: 100_000 };
  const file: JsonObject = { type: 'string', format: 'binary' };
  const seconds = { type: 'number', exclusiveMinimum: 0, maximum: 10 };
  const items: JsonObject = { type: 'array', minItems: 1, maxItems: maxInputs, items: base64 };
  return {
    '/predict': {
      post: compatibility('predict', 'The default model on one picture', {
        ...jsonContent(closedObject({ image_base64: base64, threshold, top_k: topK }, ['image_base64'])),
        'multipart/form-data': { schema: closedObject({ file }, ['file']) },
      }),
    },
    '/batch_predict': {
      post: compatibility(
        'batchPredict',
        'The default model on several pictures',
        jsonContent(closedObject({ items, timeout: seconds, threshold, top_k: topK }, ['items'])),
      ),
    },
    '/infer': {
      post: compatibility(
        'infer',
        'The default model on one text',
        jsonContent(closedObject({ text: { type: 'string' } }, ['text']), {
          text: 'The cat sits on the mat.',
        }),
      ),
    },
    '/metrics/gpu-util': {
      get: {
        operationId: 'gpuUtilisation',
        summary: 'Use of each device; empty when none is watched',
        tags: [COMPATIBILITY],
        responses: {
          200: {
            description: 'The devices.',
            content: jsonContent(openObject({ devices: { type: 'array' } }, ['devices']), { devices: [] }),
          },
          ...errorReferences('problem', ['MALFORMED_REQUEST', 'INVALID_INPUT']),
        },
      },
    },
  };
}

function compatibility(operationId: string, summary: string, content: JsonObject): JsonObject {
  return {
    operationId,
    summary,
    tags: [COMPATIBILITY],
    requestBody: { required: true, content },
    responses: {
      200: { description: 'What the model says.', content: jsonContent(componentSchema('Answer')) },
      ...errorReferences('problem'),
    },
  };
}
