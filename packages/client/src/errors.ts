/** What is wrong at one place of an input. */
export interface FieldError {
  /** A JSON pointer, `header:Name` or `query:name`. */
  readonly pointer: string;
  readonly expected: string;
  readonly received: string;
  readonly hint?: string;
}

export interface ErrorFacts {
  /** The server's code, or one of the client's own: DEADLINE_EXCEEDED, CANCELLED, UNREACHABLE, BAD_ANSWER, INVALID_INPUT. */
  readonly code?: string | undefined;
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly retryable?: boolean | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly attempts?: number | undefined;
  readonly fields?: readonly FieldError[] | undefined;
  readonly cause?: unknown;
}

/** Every failure of a call is one of these; the subclass says what can be done about it. */
export class GimbalError extends Error {
  override readonly name: string = 'GimbalError';
  readonly code: string;
  /** Undefined when no server answered. */
  readonly status: number | undefined;
  readonly requestId: string | undefined;
  /** Whether the same call may succeed later. The client has then tried already, as far as budget and deadline allowed. */
  readonly retryable: boolean;
  /** When the server wants to be asked again. */
  readonly retryAfterMs: number | undefined;
  /** Requests that were sent for the call, 0 when none was. */
  readonly attempts: number;
  readonly fields: readonly FieldError[];

  constructor(message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.code = facts.code ?? 'INTERNAL';
    this.status = facts.status;
    this.requestId = facts.requestId;
    this.retryable = facts.retryable ?? false;
    this.retryAfterMs = facts.retryAfterMs;
    this.attempts = facts.attempts ?? 0;
    this.fields = facts.fields ?? [];
  }

  /** What to do about it, when the server knows. */
  get hint(): string | undefined {
    return this.fields.find(({ hint }) => hint !== undefined)?.hint;
  }
}

/** The caller aborted. Its signal's reason is the `cause`. Never tried again. */
export class AbortError extends GimbalError {
  override readonly name = 'AbortError';
}

/** No answer within the deadline, here or on the server. */
export class DeadlineError extends GimbalError {
  override readonly name = 'DeadlineError';
}

/** The server could not be reached, or the connection broke before the answer was whole. */
export class ConnectionError extends GimbalError {
  override readonly name = 'ConnectionError';
}

/** The server cannot take more work now: overload, loading, draining, no working runner. */
export class OverloadedError extends GimbalError {
  override readonly name = 'OverloadedError';
}

/** A quota is used up. */
export class RateLimitError extends GimbalError {
  override readonly name = 'RateLimitError';
}

/** The input or the request is wrong: `fields` say where. Also thrown before anything is sent. */
export class ValidationError extends GimbalError {
  override readonly name = 'ValidationError';

  constructor(message: string, facts: ErrorFacts = {}) {
    super(message, { code: 'INVALID_INPUT', ...facts });
  }
}

/** No such model, version or path. */
export class NotFoundError extends GimbalError {
  override readonly name = 'NotFoundError';
}

/** Credentials are missing, wrong or not enough. */
export class AuthenticationError extends GimbalError {
  override readonly name = 'AuthenticationError';
}

/** The idempotency key is in use for another call. */
export class ConflictError extends GimbalError {
  override readonly name = 'ConflictError';
}

/** The server failed. */
export class ServerError extends GimbalError {
  override readonly name = 'ServerError';
}

/** What came is no answer of a Gimbal server: a proxy's page, a cut document, tensors that do not fit their shapes. */
export class AnswerError extends GimbalError {
  override readonly name = 'AnswerError';
}
