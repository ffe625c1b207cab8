import {
  AnswerError,
  AuthenticationError,
  ConflictError,
  DeadlineError,
  type ErrorFacts,
  type FieldError,
  type GimbalError,
  NotFoundError,
  OverloadedError,
  RateLimitError,
  ServerError,
  ValidationError,
} from './errors.ts';

/** Statuses after which the same request may succeed, when the server does not say so itself. */
const RETRYABLE_STATUSES: readonly number[] = [408, 429, 502, 503, 504];

/** The server's codes by what its registry says of retries: V2's error documents name the code alone. */
export const RETRYABLE_CODES: readonly string[] = [
  'QUOTA_EXCEEDED',
  'OVERLOADED',
  'MODEL_LOADING',
  'MODEL_UNAVAILABLE',
  'DRAINING',
  'RUNNER_TIMED_OUT',
  'RUNNER_CRASHED',
  'OUT_OF_MEMORY',
  'DEVICE_FAULT',
  'OUTPUT_INVALID',
];
export const FINAL_CODES: readonly string[] = [
  'MALFORMED_REQUEST',
  'INVALID_INPUT',
  'INPUT_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'POISON_INPUT',
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
  'ROUTE_NOT_FOUND',
  'MODEL_NOT_FOUND',
  'VERSION_NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'BODY_TIMEOUT',
  'DEADLINE_EXCEEDED',
  'MODEL_FAULT',
  'STREAM_INTERRUPTED',
  'STREAM_LIMIT',
  'CANCELLED',
  'UNSUPPORTED',
  'INTERNAL',
];

/** Characters of a body without an error document that a message shows: enough to know a proxy's page. */
const MAX_SHOWN = 200;
/** Field errors that are kept. */
const MAX_FIELDS = 50;

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly attempts: number;
  readonly wallTimeMs: number;
}

/** An answer that is no success, as an error: RFC 9457 documents, V2's `{"error": …}`, and whatever proxies say. */
export function errorOfAnswer(answer: ErrorAnswer): GimbalError {
  const document = objectOf(answer.text);
  const facts = factsOf(document, answer);
  const said = textOf(document?.detail) ?? textOf(document?.error) ?? textOf(document?.title);
  return build(said ?? `The server answered ${answer.status}${shown(answer.text)}`, answer.status, facts);
}

/** The error of one input among several, or of a stream that had begun. */
export function errorOfDocument(
  document: Readonly<Record<string, unknown>>,
  about: { readonly requestId: string | undefined; readonly attempts: number },
): GimbalError {
  const status = typeof document.status === 'number' ? document.status : 500;
  const facts = factsOf(document, {
    status,
    headers: new Headers(),
    text: '',
    attempts: about.attempts,
    wallTimeMs: 0,
  });
  const { requestId } = about;
  const message =
    textOf(document.detail) ?? textOf(document.error) ?? textOf(document.title) ?? 'The input failed';
  return build(message, status, { ...facts, ...(requestId === undefined ? {} : { requestId }) });
}

function build(message: string, status: number, facts: ErrorFacts): GimbalError {
  switch (status) {
    case 400:
    case 405:
    case 413:
    case 415:
    case 422:
      return new ValidationError(message, facts);
    case 401:
    case 403:
      return new AuthenticationError(message, facts);
    case 404:
      return new NotFoundError(message, facts);
    case 409:
      return new ConflictError(message, facts);
    case 429:
      return new RateLimitError(message, facts);
    case 503:
      return new OverloadedError(message, facts);
    case 408:
    case 504:
      return new DeadlineError(message, facts);
    default:
      return status >= 500 ? new ServerError(message, facts) : new AnswerError(message, facts);
  }
}

function factsOf(document: Readonly<Record<string, unknown>> | undefined, answer: ErrorAnswer): ErrorFacts {
  const { status, headers, attempts } = answer;
  const code = textOf(document?.code);
  const requestId = headers.get('x-request-id') ?? textOf(document?.request_id);
  const retryAfterMs = numberOf(document?.retry_after_ms) ?? retryAfterOf(headers, answer.wallTimeMs);
  return {
    status,
    attempts,
    code: code ?? `HTTP_${status}`,
    retryable: isRetryable(document?.retryable, code, status),
    fields: fieldsOf(document?.errors),
    ...(requestId === undefined || requestId === null ? {} : { requestId }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** What the server says of it, else what its code says, else its status. */
function isRetryable(said: unknown, code: string | undefined, status: number): boolean {
  if (typeof said === 'boolean') return said;
  if (code !== undefined && RETRYABLE_CODES.includes(code)) return true;
  if (code !== undefined && FINAL_CODES.includes(code)) return false;
  return RETRYABLE_STATUSES.includes(status);
}

/** `Retry-After` in seconds or as a date (RFC 9110, section 10.2.3), in ms from now. */
function retryAfterOf(headers: Headers, wallTimeMs: number): number | undefined {
  const text = headers.get('retry-after')?.trim();
  if (text === undefined || text === '') return undefined;
  if (/^\d{1,15}(\.\d{1,6})?$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - wallTimeMs);
}

function fieldsOf(list: unknown): readonly FieldError[] {
  if (!Array.isArray(list)) return [];
  return list.slice(0, MAX_FIELDS).flatMap((entry: unknown) => {
    if (typeof entry !== 'object' || entry === null) return [];
    const { pointer, expected, received, hint } = entry as Readonly<Record<string, unknown>>;
    return [
      {
        pointer: textOf(pointer) ?? '',
        expected: textOf(expected) ?? '',
        received: textOf(received) ?? '',
        ...(typeof hint === 'string' ? { hint } : {}),
      },
    ];
  });
}

function objectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined;
}

function shown(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  if (line === '') return '';
  return `: ${line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)}…` : line}`;
}
