import {
  type ErrorCode,
  type ErrorRow,
  errorRow,
  type FieldError,
  type GimbalError,
  type Random,
} from '@gimbal/core';
import type { ErrorStyle } from '../route.ts';

/** Field errors that a document repeats. */
const MAX_FIELDS = 50;

/** Advice for codes that bring none. */
const DEFAULT_RETRY_AFTER_MS = 1000;

/** Share of the advised time by which callers are spread, so that those refused together don't return together. */
const JITTER_RATIO = 0.5;

const TOO_MANY_REQUESTS = 429;
const SERVICE_UNAVAILABLE = 503;

/** When to come back: whole seconds for the header, milliseconds for the document. Never sooner than advised. */
export interface RetryAfter {
  readonly seconds: number;
  readonly milliseconds: number;
}

/** What a document says besides the error itself. */
export interface ErrorOccasion {
  readonly requestId: string;
  /** The path, as sent. */
  readonly instance: string;
  readonly retryAfter: RetryAfter | undefined;
  /** Further members, rendered; "" for none. */
  readonly members: string;
}

export function statusOf(code: ErrorCode, style: ErrorStyle): number {
  const row: ErrorRow = errorRow(code);
  return style === 'v2' ? (row.httpV2 ?? row.http) : row.http;
}

export function contentTypeOf(style: ErrorStyle): string {
  return style === 'v2' ? 'application/json' : 'application/problem+json';
}

/** Every 429 and 503 says when to come back. */
export function retryAfterOf(error: GimbalError, random: Random): RetryAfter | undefined {
  const { http } = error.row;
  if (http !== TOO_MANY_REQUESTS && http !== SERVICE_UNAVAILABLE) return undefined;
  const advised = Math.max(0, error.retryAfterMs ?? DEFAULT_RETRY_AFTER_MS);
  const milliseconds = Math.round(advised * (1 + random.next() * JITTER_RATIO));
  const whole = Math.max(1, Math.ceil(advised / 1000));
  const spread = Math.max(1, Math.ceil(whole * JITTER_RATIO));
  return { milliseconds, seconds: whole + Math.floor(random.next() * (spread + 1)) };
}

/** The body of an error: a problem document (RFC 9457), or V2's `{"error": …}` with our code and request id. */
export function errorDocument(error: GimbalError, style: ErrorStyle, occasion: ErrorOccasion): string {
  return style === 'v2' ? v2Document(error, occasion) : problemDocument(error, occasion);
}

/** The members that say what went wrong, without braces: also what one bad item among several is answered with. */
export function errorMembers(error: GimbalError): string {
  const { row } = error;
  let members = `"type":"/docs/errors#${error.code}","title":${JSON.stringify(row.title)},"status":${row.http},"detail":${JSON.stringify(error.message)},"code":"${error.code}","retryable":${row.retry !== 'never'}`;
  for (const [name, value] of Object.entries(error.extra)) {
    members += `,${JSON.stringify(name)}:${JSON.stringify(value)}`;
  }
  if (error.fields.length > 0) {
    members += `,"errors":${JSON.stringify(error.fields.slice(0, MAX_FIELDS).map(fieldDocument))}`;
  }
  return members;
}

function problemDocument(error: GimbalError, occasion: ErrorOccasion): string {
  let members = `${errorMembers(error)},"instance":${JSON.stringify(occasion.instance)},"request_id":${JSON.stringify(occasion.requestId)}`;
  if (occasion.retryAfter) members += `,"retry_after_ms":${occasion.retryAfter.milliseconds}`;
  if (occasion.members !== '') members += `,${occasion.members}`;
  return `{${members}}`;
}

function v2Document(error: GimbalError, { requestId, members }: ErrorOccasion): string {
  const further = members === '' ? '' : `,${members}`;
  return `{"error":${JSON.stringify(error.message)},"code":"${error.code}","request_id":${JSON.stringify(requestId)}${further}}`;
}

function fieldDocument({ pointer, expected, received, hint }: FieldError) {
  return { pointer, expected, received, ...(hint === undefined ? {} : { hint }) };
}
