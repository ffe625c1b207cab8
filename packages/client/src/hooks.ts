import type { GimbalError } from './errors.ts';

/** One HTTP request of a call, before it is sent. */
export interface AttemptEvent {
  readonly url: string;
  readonly method: string;
  /** Of the model; undefined for requests that are about none. */
  readonly model: string | undefined;
  /** From 1; the same for a hedge and the attempt that it is beside. */
  readonly attempt: number;
  readonly hedge: boolean;
  /** May be changed, for instance to inject a `traceparent`. */
  readonly headers: Headers;
}

export interface ResponseEvent extends AttemptEvent {
  readonly status: number;
  readonly requestId: string | undefined;
  readonly durationMs: number;
}

export interface AttemptErrorEvent extends AttemptEvent {
  readonly error: GimbalError;
  readonly durationMs: number;
}

export interface RetryEvent {
  readonly model: string | undefined;
  /** The attempt that failed. */
  readonly attempt: number;
  readonly error: GimbalError;
  readonly delayMs: number;
}

/** Told what a client does, for traces and metrics. What a hook throws is dropped: it must not change a call. */
export interface Hooks {
  onAttempt?(event: AttemptEvent): void;
  /** Headers of an answer have come, whatever its status. */
  onResponse?(event: ResponseEvent): void;
  /** An attempt has failed, by its status or before it had one. */
  onAttemptError?(event: AttemptErrorEvent): void;
  onRetry?(event: RetryEvent): void;
  /** A second request is sent beside a slow one. */
  onHedge?(event: { readonly model: string | undefined; readonly afterMs: number }): void;
}

export function tell<Event>(hook: ((event: Event) => void) | undefined, event: Event): void {
  try {
    hook?.(event);
  } catch {
    // A broken observer is no reason to fail what it observes.
  }
}
