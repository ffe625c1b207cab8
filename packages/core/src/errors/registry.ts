/**
 * The error registry: the one table that says how each kind of failure is answered, retried and counted.
 * Every protocol reads its statuses from here; no other table of statuses exists.
 */

/** Whether asking again can help, and where. `theirs` codes are `never`: the same input fails the same way. */
export type RetryAdvice = 'never' | 'after-delay' | 'elsewhere' | 'smaller-batch';

/** How a failure counts against a breaker: `hard` opens it when repeated, `soft` only pushes the ladder. */
export type BreakerWeight = 'none' | 'soft' | 'hard';

/** What a request ended as, in metrics and logs. */
export type Outcome = 'ok' | 'degraded' | 'client_error' | 'error' | 'timeout' | 'shed' | 'cancelled';

export interface ErrorRow {
  /** gRPC status name, https://grpc.github.io/grpc/core/md_doc_statuscodes.html */
  readonly grpc: string;
  /** HTTP status of the native API. */
  readonly http: number;
  /** HTTP status of the V2 protocol where its clients expect another one. */
  readonly httpV2?: number;
  readonly retry: RetryAdvice;
  readonly breaker: BreakerWeight;
  readonly outcome: Outcome;
  /** One line for people: the `title` of the problem document and the docs page. */
  readonly title: string;
}

export const ERROR_REGISTRY = {
  MALFORMED_REQUEST: row(
    'INVALID_ARGUMENT',
    400,
    'never',
    'none',
    'client_error',
    'The request is not well-formed',
  ),
  INVALID_INPUT: {
    ...row('INVALID_ARGUMENT', 422, 'never', 'none', 'client_error', 'The input does not fit the model'),
    httpV2: 400,
  },
  INPUT_TOO_LARGE: row(
    'INVALID_ARGUMENT',
    413,
    'never',
    'none',
    'client_error',
    'The input is over a size limit',
  ),
  UNSUPPORTED_MEDIA_TYPE: row(
    'INVALID_ARGUMENT',
    415,
    'never',
    'none',
    'client_error',
    'The body is of a type that is not accepted here',
  ),
  POISON_INPUT: row('INVALID_ARGUMENT', 422, 'never', 'none', 'client_error', 'This input crashes the model'),
  UNAUTHENTICATED: row(
    'UNAUTHENTICATED',
    401,
    'never',
    'none',
    'client_error',
    'Credentials are missing or wrong',
  ),
  PERMISSION_DENIED: row('PERMISSION_DENIED', 403, 'never', 'none', 'client_error', 'Not allowed'),
  ROUTE_NOT_FOUND: row('NOT_FOUND', 404, 'never', 'none', 'client_error', 'There is nothing at this path'),
  MODEL_NOT_FOUND: row('NOT_FOUND', 404, 'never', 'none', 'client_error', 'No such model'),
  VERSION_NOT_FOUND: row('NOT_FOUND', 404, 'never', 'none', 'client_error', 'No such version of the model'),
  METHOD_NOT_ALLOWED: row(
    'UNIMPLEMENTED',
    405,
    'never',
    'none',
    'client_error',
    'The path has other methods',
  ),
  BODY_TIMEOUT: row('DEADLINE_EXCEEDED', 408, 'never', 'none', 'client_error', 'The body arrived too slowly'),
  QUOTA_EXCEEDED: row(
    'RESOURCE_EXHAUSTED',
    429,
    'after-delay',
    'none',
    'client_error',
    'The quota is used up',
  ),
  OVERLOADED: row('UNAVAILABLE', 503, 'after-delay', 'none', 'shed', 'More work than can be done in time'),
  MODEL_LOADING: row('UNAVAILABLE', 503, 'after-delay', 'none', 'shed', 'The model is loading'),
  MODEL_UNAVAILABLE: row(
    'UNAVAILABLE',
    503,
    'after-delay',
    'none',
    'error',
    'The model has no working runner',
  ),
  DRAINING: row('UNAVAILABLE', 503, 'elsewhere', 'none', 'shed', 'The server is shutting down'),
  DEADLINE_EXCEEDED: row('DEADLINE_EXCEEDED', 504, 'never', 'none', 'timeout', 'The deadline passed'),
  RUNNER_TIMED_OUT: row('DEADLINE_EXCEEDED', 504, 'elsewhere', 'soft', 'timeout', 'The model ran too long'),
  RUNNER_CRASHED: row('UNAVAILABLE', 503, 'elsewhere', 'hard', 'error', 'The model process crashed'),
  OUT_OF_MEMORY: row('UNAVAILABLE', 503, 'smaller-batch', 'hard', 'error', 'The model ran out of memory'),
  DEVICE_FAULT: row('UNAVAILABLE', 503, 'elsewhere', 'hard', 'error', 'The device of the model failed'),
  MODEL_FAULT: row('INTERNAL', 500, 'never', 'hard', 'error', 'The model failed on this input'),
  OUTPUT_INVALID: row(
    'INTERNAL',
    500,
    'elsewhere',
    'soft',
    'error',
    'The model gave an answer that fails its checks',
  ),
  STREAM_INTERRUPTED: row(
    'UNAVAILABLE',
    503,
    'never',
    'hard',
    'error',
    'The stream broke off after its first piece',
  ),
  STREAM_LIMIT: row(
    'RESOURCE_EXHAUSTED',
    500,
    'never',
    'none',
    'error',
    'The stream reached a limit of its length or duration',
  ),
  CANCELLED: row('CANCELLED', 499, 'never', 'none', 'cancelled', 'The client went away'),
  UNSUPPORTED: row('UNIMPLEMENTED', 501, 'never', 'none', 'client_error', 'Not supported'),
  INTERNAL: row('INTERNAL', 500, 'never', 'hard', 'error', 'An error of the server itself'),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERROR_REGISTRY;

export const ERROR_CODES = Object.keys(ERROR_REGISTRY) as readonly ErrorCode[];

/** The registry's row of a code, typed by its common shape. */
export function errorRow(code: ErrorCode): ErrorRow {
  return ERROR_REGISTRY[code];
}

function row(
  grpc: string,
  http: number,
  retry: RetryAdvice,
  breaker: BreakerWeight,
  outcome: Outcome,
  title: string,
): ErrorRow {
  return { grpc, http, retry, breaker, outcome, title };
}
