import type { VersionSpec } from '@gimbal/core';
import { exampleElement } from '../front/model-example.ts';
import { componentSchema, type JsonObject, type JsonValue, openObject } from './schema.ts';

/** Classes that an example answer lists. */
const SHOWN_CLASSES = 2;

const PREDICTION_EXAMPLES = [0.83, 0.06];

/** Members that every native answer has. */
const COMMON_PROPERTIES: JsonObject = {
  model: { type: 'string' },
  version: { type: 'string' },
  variant: { type: 'string', description: 'Which implementation of the version answered.' },
  degraded: { type: 'boolean', description: 'True when it was not the best variant.' },
  request_id: { type: 'string' },
  timings_ms: componentSchema('Timings'),
};
const COMMON_NAMES = ['model', 'version', 'variant', 'degraded', 'request_id', 'timings_ms'];

export function answerSchemas(): JsonObject {
  const duration = { type: 'number', minimum: 0 };
  const stages = ['queue', 'batch', 'preprocess', 'infer', 'postprocess', 'total'];
  return {
    Timings: openObject(Object.fromEntries(stages.map((stage) => [stage, duration])), stages),
    Prediction: openObject(
      {
        class_id: { type: 'integer', minimum: 0 },
        label: { type: ['string', 'null'] },
        confidence: { type: 'number' },
        bbox: {
          type: 'array',
          items: { type: 'number' },
          minItems: 4,
          maxItems: 4,
          description: '[x1, y1, x2, y2] in pixels of the upright picture.',
        },
      },
      ['class_id', 'confidence'],
    ),
    ItemError: openObject({ error: openObject({ code: componentSchema('ErrorCode') }, ['code']) }, ['error']),
    Answer: openObject(COMMON_PROPERTIES, COMMON_NAMES),
  };
}

/** The answer of one version: its task's members for one input, `results` for several. */
export function answerSchema(spec: VersionSpec): JsonObject {
  const members = answerMembers(spec);
  const names = Object.keys(members);
  const one = openObject(members, names.slice(0, 1));
  const results: JsonObject = {
    type: 'array',
    items: {
      anyOf: [one, componentSchema('ItemError'), openObject({ results: { type: 'array' } }, ['results'])],
    },
  };
  return {
    type: 'object',
    properties: { ...COMMON_PROPERTIES, ...members, results },
    required: COMMON_NAMES,
    anyOf: [{ required: names.slice(0, 1) }, { required: ['results'] }],
  };
}

/** A whole answer with the model's own names in it. */
export function answerExample(spec: VersionSpec): JsonObject {
  return {
    model: spec.model,
    version: spec.version,
    variant: spec.variants[0]?.name ?? 'default',
    degraded: false,
    ...exampleMembers(spec),
    request_id: '01934f3c-7a10-7c3e-9d1f-2b6f5a0c4e11',
    timings_ms: { queue: 0.4, batch: 0.21, preprocess: 0, infer: 1.9, postprocess: 0.05, total: 2.71 },
  };
}

function answerMembers({ task, signature }: VersionSpec): JsonObject {
  const predictions: JsonObject = { type: 'array', items: componentSchema('Prediction') };
  switch (task) {
    case 'image-classification':
    case 'object-detection':
    case 'text-classification':
      return { predictions };
    case 'text-embedding':
      return { embedding: { type: 'array', items: { type: ['number', 'null'] } } };
    case 'tabular':
    case 'tensor': {
      const outputs = signature.outputs.map(({ name, datatype, shape }): [string, JsonObject] => [
        name,
        { description: `${datatype} [${shape.join(', ')}]` },
      ]);
      return { outputs: openObject(Object.fromEntries(outputs), []), predictions };
    }
  }
}

function exampleMembers(spec: VersionSpec): JsonObject {
  switch (spec.task) {
    case 'image-classification':
    case 'text-classification':
      return {
        predictions: PREDICTION_EXAMPLES.slice(0, SHOWN_CLASSES).map((score, id) =>
          prediction(spec, id, score),
        ),
      };
    case 'object-detection':
      return { predictions: [{ ...prediction(spec, 0, 0.98), bbox: [34.5, 20.25, 121.75, 140] }] };
    case 'text-embedding':
      return { embedding: [0.0123, -0.0456, 0.0789] };
    case 'tabular':
    case 'tensor':
      return {
        outputs: Object.fromEntries(
          spec.signature.outputs.map(({ name, datatype }): [string, JsonValue] => [
            name,
            [exampleElement(datatype)],
          ]),
        ),
      };
  }
}

function prediction({ labels }: VersionSpec, id: number, confidence: number): JsonObject {
  return { class_id: id, label: labels?.[id] ?? String(id), confidence };
}
