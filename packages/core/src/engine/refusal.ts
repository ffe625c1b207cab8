import { GimbalError } from '../errors/gimbal-error.ts';

/** Retry-After of a refusal is at least this. */
const MIN_RETRY_AFTER_MS = 50;
/** Retry-After while there is no runner: about a model load. */
const NO_RUNNER_RETRY_MS = 1000;

/** The deadline passed, or can't be met any more. `what` completes the sentence. */
export function expired(what: string): GimbalError {
  return new GimbalError('DEADLINE_EXCEEDED', `Cannot answer in time: ${what}`);
}

/** Shed: what is queued already leaves no time. */
export function tooLate(lateMs: number): GimbalError {
  return new GimbalError(
    'OVERLOADED',
    `Cannot finish in time: the queue ahead needs ${Math.ceil(lateMs)} ms more than the deadline leaves, expected work that fits`,
    { retryAfterMs: Math.max(MIN_RETRY_AFTER_MS, Math.ceil(lateMs)) },
  );
}

/** Shed: the queue stands, and callers who did not say how long they wait may not be there any more. */
export function standing(wait: { waitMs: number; targetMs: number }): GimbalError {
  return new GimbalError(
    'OVERLOADED',
    `Cannot queue the work: the wait has been ${Math.ceil(wait.waitMs)} ms for a while, expected at most ${Math.ceil(wait.targetMs)} for requests that say no deadline; say one with Inference-Timeout-Ms to wait longer`,
    { retryAfterMs: Math.max(MIN_RETRY_AFTER_MS, Math.ceil(wait.waitMs - wait.targetMs)) },
  );
}

/** Shed: it waited in a queue that stands until its caller has probably gone. */
export function stale(waitedMs: number): GimbalError {
  return new GimbalError(
    'OVERLOADED',
    `Cannot answer soon: the work has waited ${Math.round(waitedMs)} ms in a queue that stands, and newer ones go first; say a deadline with Inference-Timeout-Ms to wait longer`,
    { retryAfterMs: MIN_RETRY_AFTER_MS },
  );
}

/** The caller refuses anything but the best rung, which can't run. */
export function bestUnavailable(): GimbalError {
  return new GimbalError(
    'MODEL_UNAVAILABLE',
    'Cannot answer with the best variant: it has no working runner, and the request refuses degradation; expected Inference-Degradation: accept, or another time',
    { retryAfterMs: NO_RUNNER_RETRY_MS },
  );
}

/** It crashed runners until it was alone with one. */
export function poison(because: string): GimbalError {
  return new GimbalError(
    'POISON_INPUT',
    `Cannot run this input: ${because}, expected an input that the model survives`,
  );
}

/** Shed: the memory for waiting works is used up. */
export function tooManyBytes(bytes: { held: number; limit: number }, waitMs: number): GimbalError {
  return new GimbalError(
    'OVERLOADED',
    `Cannot queue the work: ${bytes.held} bytes are held already, expected at most ${bytes.limit} with it`,
    { retryAfterMs: Math.max(MIN_RETRY_AFTER_MS, Math.ceil(waitMs)) },
  );
}

export function loading(): GimbalError {
  return new GimbalError(
    'MODEL_LOADING',
    'Cannot run the model yet: it is still being loaded, expected a runner that is ready',
    { retryAfterMs: NO_RUNNER_RETRY_MS },
  );
}

/** No runner works, for the reason of the fault; without one the version is on its way out. */
export function unavailable(fault: GimbalError | undefined): GimbalError {
  return new GimbalError(
    'MODEL_UNAVAILABLE',
    fault?.message ?? 'Cannot run the model: it is being unloaded',
    { retryAfterMs: NO_RUNNER_RETRY_MS },
  );
}
