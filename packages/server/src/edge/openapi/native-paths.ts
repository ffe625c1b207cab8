import type { VersionSpec } from '@gimbal/core';
import { acceptedTypes, takesImages, takesTexts } from '../front/accepted-types.ts';
import { EXAMPLE_TEXT, exampleInput, isShowable } from '../front/model-example.ts';
import { answerExample, answerSchema } from './answer-schema.ts';
import { errorReferences } from './error-responses.ts';
import { closedObject, componentSchema, type JsonObject, type JsonValue, jsonContent } from './schema.ts';
import { nativeTensorSchema } from './tensor-schema.ts';

const BINARY: JsonObject = { type: 'string', format: 'binary' };

/** `POST …/predict` of each served model, with its own schemas and examples. */
export function nativeModelPaths(specs: readonly VersionSpec[], maxInputs: number): JsonObject {
  return Object.fromEntries(
    specs.map((spec) => [
      `/v1/models/${encodeURIComponent(spec.model)}/predict`,
      { post: predictOperation(spec, maxInputs) },
    ]),
  );
}

/** The schema of one input of the native API. */
export function nativeInputSchema(spec: VersionSpec): JsonObject {
  switch (spec.task) {
    case 'image-classification':
    case 'object-detection': {
      const text = { type: 'string', description: 'A JPEG, PNG or WebP as base64 or a data URI.' };
      return { anyOf: [text, closedObject({ image: text }, ['image'])] };
    }
    case 'text-embedding':
    case 'text-classification':
      return { anyOf: [{ type: 'string' }, closedObject({ text: { type: 'string' } }, ['text'])] };
    case 'tabular':
    case 'tensor':
      return nativeTensorSchema(spec);
  }
}

function predictOperation(spec: VersionSpec, maxInputs: number): JsonObject {
  return {
    operationId: `predict_${operationName(spec.model)}`,
    summary: `Ask ${spec.model} (${spec.task})`,
    tags: [spec.model],
    parameters: [
      { $ref: '#/components/parameters/RequestId' },
      { $ref: '#/components/parameters/TimeoutMs' },
      { $ref: '#/components/parameters/Criticality' },
      { $ref: '#/components/parameters/TopK' },
      { $ref: '#/components/parameters/Threshold' },
      { $ref: '#/components/parameters/TimeoutQuery' },
    ],
    requestBody: {
      required: true,
      content: Object.fromEntries(acceptedTypes(spec).map((type) => [type, bodyOf(type, spec, maxInputs)])),
    },
    responses: {
      200: {
        description: 'What the model says.',
        headers: answerHeaders(),
        content: jsonContent(answerSchema(spec), answerExample(spec)),
      },
      ...errorReferences('problem'),
    },
  };
}

function bodyOf(type: string, spec: VersionSpec, maxInputs: number): JsonObject {
  switch (type) {
    case 'application/json':
      return jsonBody(spec, maxInputs);
    case 'multipart/form-data':
      return { schema: formSchema(spec) };
    case 'text/plain':
      return { schema: { type: 'string', minLength: 1 }, example: EXAMPLE_TEXT };
    default:
      return { schema: BINARY };
  }
}

function jsonBody(spec: VersionSpec, maxInputs: number): JsonObject {
  const input = nativeInputSchema(spec);
  const parameters = componentSchema('Parameters');
  const schema: JsonObject = {
    oneOf: [
      closedObject({ input, parameters }, ['input']),
      closedObject(
        { inputs: { type: 'array', items: input, minItems: 1, maxItems: maxInputs }, parameters },
        ['inputs'],
      ),
    ],
  };
  const batches = spec.signature.batchAxis === 'dynamic';
  const isLong = !takesImages(spec.task) && !takesTexts(spec.task);
  if (isLong && !spec.signature.inputs.every((tensor) => isShowable(tensor, batches))) return { schema };
  return { schema, example: { input: exampleInput(spec) as JsonValue } };
}

function formSchema(spec: VersionSpec): JsonObject {
  const parameters = {
    type: 'string',
    description: 'JSON, as in the JSON body.',
    contentMediaType: 'application/json',
  };
  if (takesImages(spec.task)) {
    const image: JsonObject = { type: 'array', items: BINARY, minItems: 1 };
    return closedObject({ image, parameters }, ['image']);
  }
  if (takesTexts(spec.task)) return closedObject({ text: { type: 'string' }, parameters }, ['text']);
  const input = {
    type: 'string',
    description: 'JSON, as in the JSON body.',
    contentMediaType: 'application/json',
  };
  return closedObject({ input, parameters }, ['input']);
}

function answerHeaders(): JsonObject {
  const names = [
    'X-Request-Id',
    'Inference-Model',
    'Inference-Version',
    'Inference-Variant',
    'Inference-Batch-Size',
    'Inference-Degraded',
    'Server-Timing',
  ];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** A model's name as part of an identifier. */
export function operationName(model: string): string {
  return model.replaceAll(/[^A-Za-z0-9]/g, '_');
}
