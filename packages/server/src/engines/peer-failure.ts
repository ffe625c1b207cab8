import { type ErrorCode, errorRow, GimbalError } from '@gimbal/core';

/** How an attempt at an endpoint came to nothing. */
export type FailureKind =
  /** No connection: nothing was sent. */
  | 'unreachable'
  /** The connection ended before the answer did. */
  | 'broken'
  /** No answer in time. */
  | 'silent'
  /** Too little time was left for the answer: it says nothing of the endpoint. */
  | 'late'
  /** The server says that it has too much to do. */
  | 'overloaded'
  /** The server does not have the model, or does not let us in. */
  | 'refused'
  /** An answer with an error of the server. */
  | 'failed'
  /** What came is no answer. */
  | 'garbage'
  /** The input is at fault. */
  | 'input'
  /** We called it off. */
  | 'aborted';

const CODES: Readonly<Record<FailureKind, ErrorCode>> = {
  unreachable: 'RUNNER_CRASHED',
  broken: 'RUNNER_CRASHED',
  silent: 'RUNNER_TIMED_OUT',
  late: 'DEADLINE_EXCEEDED',
  overloaded: 'OVERLOADED',
  refused: 'MODEL_UNAVAILABLE',
  failed: 'RUNNER_CRASHED',
  garbage: 'OUTPUT_INVALID',
  input: 'INVALID_INPUT',
  aborted: 'CANCELLED',
};

/** Longest text of a server that a message quotes. */
const MAX_QUOTED_LENGTH = 300;

/** A failed attempt. `message` is public: it names what went wrong, never an address or a header. */
export class PeerFailure extends Error {
  override readonly name = 'PeerFailure';
  readonly kind: FailureKind;
  /** When the server said to come again. */
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: FailureKind,
    what: string,
    options: { readonly cause?: unknown; readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(what, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
  }

  get code(): ErrorCode {
    return CODES[this.kind];
  }

  /** Whether the endpoint itself is in question. */
  get counts(): boolean {
    return errorRow(this.code).breaker !== 'none' || this.kind === 'refused';
  }

  /** Whether there was no answer of the model at all: the endpoint is asked at once whether it lives. */
  get lost(): boolean {
    return ['unreachable', 'broken', 'silent', 'refused'].includes(this.kind);
  }

  /** Whether another endpoint may know better. Overload moves on only to one that is idle, which its caller knows. */
  get elsewhere(): boolean {
    return errorRow(this.code).retry === 'elsewhere' || this.kind === 'refused';
  }

  toError(): GimbalError {
    const retryAfterMs = this.retryAfterMs;
    return new GimbalError(this.code, `Cannot run the model: ${this.message}`, {
      cause: this,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  }
}

export function isPeerFailure(value: unknown): value is PeerFailure {
  return value instanceof PeerFailure;
}

/** Any thrown value of an attempt: what nobody foresaw is the endpoint's failure, since nothing else took part. */
export function toPeerFailure(error: unknown): PeerFailure {
  if (isPeerFailure(error)) return error;
  return new PeerFailure('garbage', 'the remote engine gave an answer that can not be read', {
    cause: error,
  });
}

/** A server's own words, cut and on one line. */
export function quoted(text: string): string {
  const line = text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length <= MAX_QUOTED_LENGTH ? line : `${line.slice(0, MAX_QUOTED_LENGTH)}…`;
}

/** An HTTP status of an inference server that is no success. */
export function failureOfStatus(status: number, said: string, retryAfterMs: number | undefined): PeerFailure {
  const words = said === '' ? `status ${status}` : `"${quoted(said)}" (status ${status})`;
  if (status === 400 || status === 413 || status === 415 || status === 422) {
    return new PeerFailure('input', `the remote engine refuses the input, ${words}`);
  }
  if (status === 429 || status === 503) {
    return new PeerFailure('overloaded', `the remote engine is overloaded, ${words}`, { retryAfterMs });
  }
  if (status === 404) {
    return new PeerFailure('refused', `the remote engine does not have the model, ${words}`);
  }
  if (status === 408 || status === 504 || status === 499) {
    return new PeerFailure('late', `the remote engine ran out of time, ${words}`);
  }
  if (status >= 500) return new PeerFailure('failed', `the remote engine failed, ${words}`);
  if (status === 401 || status === 403) {
    return new PeerFailure('refused', `the remote engine does not let us in, status ${status}`);
  }
  return new PeerFailure('refused', `the remote engine answers with status ${status}, expected 200`);
}
