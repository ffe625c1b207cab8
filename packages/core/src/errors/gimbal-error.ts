import { type ErrorCode, type ErrorRow, errorRow } from './registry.ts';

const BRAND = Symbol.for('gimbal.error');

/** One thing that is wrong with one place of the input. */
export interface FieldError {
  /** JSON pointer (RFC 6901) into the body, or `header:Name`, or `query:name`. */
  readonly pointer: string;
  readonly expected: string;
  readonly received: string;
  /** How to fix it, when that is known. */
  readonly hint?: string;
}

export interface GimbalErrorOptions {
  readonly fields?: readonly FieldError[];
  /** When asking again makes sense, in milliseconds; the edges turn it into Retry-After. */
  readonly retryAfterMs?: number;
  /** For logs only; never sent to a client. */
  readonly cause?: unknown;
  /** Further members of the problem document, such as `estimated_seconds`. */
  readonly extra?: Readonly<Record<string, string | number | boolean>>;
}

/**
 * A failure with a code of the registry. The message is public: it says what could not be done, what was expected and
 * what was got, and never holds paths, stack traces or secrets.
 */
export class GimbalError extends Error {
  override readonly name = 'GimbalError';
  readonly [BRAND] = true;
  readonly code: ErrorCode;
  readonly fields: readonly FieldError[];
  readonly retryAfterMs: number | undefined;
  readonly extra: Readonly<Record<string, string | number | boolean>>;

  constructor(code: ErrorCode, message: string, options: GimbalErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.fields = options.fields ?? [];
    this.retryAfterMs = options.retryAfterMs;
    this.extra = options.extra ?? {};
  }

  get row(): ErrorRow {
    return errorRow(this.code);
  }
}

/** Recognises our errors by brand, so that two copies of this package agree. */
export function isGimbalError(value: unknown): value is GimbalError {
  return typeof value === 'object' && value !== null && BRAND in value;
}

/** Any thrown value as one of ours: unknown ones become INTERNAL with a public message that reveals nothing. */
export function toGimbalError(value: unknown): GimbalError {
  if (isGimbalError(value)) return value;
  return new GimbalError('INTERNAL', 'Cannot answer: an internal error, see the server log by request id', {
    cause: value,
  });
}
