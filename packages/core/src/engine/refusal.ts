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

/** Shed: the memory for waiting works is used up. */
export function tooManyBytes(bytes: { queued: number; limit: number }, waitMs: number): GimbalError {
  return new GimbalError(
    'OVERLOADED',
    `Cannot queue the work: ${bytes.queued} bytes wait already, expected at most ${bytes.limit} with it`,
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
