import { ERROR_CODES, type ErrorCode, errorRow } from '@gimbal/core';
import { contentTypeOf, statusOf } from '../front/errors.ts';
import type { ErrorStyle } from '../route.ts';
import { componentSchema, type JsonObject, openObject } from './schema.ts';

/** Never sent: the client is gone. */
const NOT_SENT = 499;

/** Named responses of each style and status, with an example for every code of the registry that ends so. */
export function errorComponents(): JsonObject {
  const components: Record<string, JsonObject> = {};
  for (const style of ['problem', 'v2'] as const) {
    for (const [status, codes] of codesByStatus(style)) {
      components[componentName(style, status)] = errorResponse(style, status, codes);
    }
  }
  return components;
}

/** References to all of a style's error responses, or to those of the given codes. */
export function errorReferences(style: ErrorStyle, codes: readonly ErrorCode[] = ERROR_CODES): JsonObject {
  const references: Record<string, JsonObject> = {};
  for (const code of codes) {
    const status = statusOf(code, style);
    if (status !== NOT_SENT) {
      references[status] = { $ref: `#/components/responses/${componentName(style, status)}` };
    }
  }
  return references;
}

export function errorSchemas(): JsonObject {
  const field = openObject(
    {
      pointer: { type: 'string', description: 'JSON pointer into the body, `header:Name` or `query:name`.' },
      expected: { type: 'string' },
      received: { type: 'string' },
      hint: { type: 'string' },
    },
    ['pointer', 'expected', 'received'],
  );
  const code = { type: 'string', enum: ERROR_CODES };
  const requestId = { type: 'string' };
  return {
    ErrorCode: { ...code, description: 'Codes of the error registry; `/docs/errors` explains them.' },
    FieldError: field,
    Problem: openObject(
      {
        type: { type: 'string', format: 'uri-reference' },
        title: { type: 'string' },
        status: { type: 'integer' },
        detail: { type: 'string' },
        instance: { type: 'string' },
        code: componentSchema('ErrorCode'),
        request_id: requestId,
        retryable: { type: 'boolean' },
        retry_after_ms: { type: 'integer', minimum: 0 },
        errors: { type: 'array', items: componentSchema('FieldError') },
      },
      ['type', 'title', 'status', 'detail', 'instance', 'code', 'request_id', 'retryable'],
    ),
    V2Error: openObject(
      { error: { type: 'string' }, code: componentSchema('ErrorCode'), request_id: requestId },
      ['error'],
    ),
  };
}

function codesByStatus(style: ErrorStyle): ReadonlyMap<number, readonly ErrorCode[]> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of ERROR_CODES) {
    const status = statusOf(code, style);
    if (status === NOT_SENT) continue;
    const codes = byStatus.get(status);
    if (codes) codes.push(code);
    else byStatus.set(status, [code]);
  }
  return byStatus;
}

function componentName(style: ErrorStyle, status: number): string {
  return style === 'v2' ? `V2Error${status}` : `Problem${status}`;
}

function errorResponse(style: ErrorStyle, status: number, codes: readonly ErrorCode[]): JsonObject {
  const examples = Object.fromEntries(codes.map((code) => [code, { value: exampleOf(style, status, code) }]));
  const retryAfter = {
    'Retry-After': { description: 'Whole seconds, jittered.', schema: { type: 'integer', minimum: 1 } },
  };
  return {
    description: codes.map((code) => `${code}: ${errorRow(code).title}`).join('. '),
    headers: {
      'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' },
      ...(status === 429 || status === 503 ? retryAfter : {}),
    },
    content: {
      [contentTypeOf(style)]: { schema: componentSchema(style === 'v2' ? 'V2Error' : 'Problem'), examples },
    },
  };
}

function exampleOf(style: ErrorStyle, status: number, code: ErrorCode): JsonObject {
  const { title, retry } = errorRow(code);
  const requestId = '01934f3c-7a10-7c3e-9d1f-2b6f5a0c4e11';
  if (style === 'v2') return { error: title, code, request_id: requestId };
  return {
    type: `/docs/errors#${code}`,
    title,
    status,
    detail: title,
    instance: '/v1/models/digits/predict',
    code,
    request_id: requestId,
    retryable: retry !== 'never',
  };
}
