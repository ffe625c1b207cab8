import { type BatchJob, GimbalError, type RunnerEnd } from '@gimbal/core';
import { type ChildExit, describeExit } from './runner-child.ts';

/** What native libraries and Node print before they abort for want of memory. */
const OUT_OF_MEMORY = /bad_alloc|out of memory|failed to allocate|allocation failed/i;

/** Why a runner is gone, for the works that were inside and for those who look at it. */
export interface RunnerLoss {
  readonly error: GimbalError;
  readonly end: RunnerEnd;
}

export function speaksOfMemory(line: string): boolean {
  return OUT_OF_MEMORY.test(line);
}

/** Of a process that nobody of ours has ended. */
export function lossOf(
  exit: ChildExit,
  seen: { readonly kernelKilled: boolean; readonly spokeOfMemory: boolean },
): RunnerLoss {
  const ending = describeExit(exit);
  if (exit.kind === 'signalled' && exit.signal === 'SIGKILL') {
    if (seen.kernelKilled) return outOfMemory('kernel', 'it was ended by the operating system');
    return { error: crashed(ending), end: { cause: 'killed' } };
  }
  if (seen.spokeOfMemory) return outOfMemory('itself', ending);
  const signal = exit.kind === 'signalled' ? exit.signal : undefined;
  const exitCode = exit.kind === 'exited' ? exit.code : undefined;
  return { error: crashed(ending), end: { cause: 'crashed', signal, exitCode } };
}

export function brokeProtocol(cause: unknown): RunnerLoss {
  return {
    error: new GimbalError('RUNNER_CRASHED', 'Cannot answer: the model process broke its protocol', {
      cause,
    }),
    end: { cause: 'crashed', signal: undefined, exitCode: undefined },
  };
}

export function hung(job: BatchJob, because: 'slow' | 'expired'): RunnerLoss {
  const inputs = `a batch of ${job.parts.length} inputs`;
  const what =
    because === 'slow'
      ? `did not finish ${inputs} in time`
      : `was still at ${inputs} when all their deadlines had passed`;
  return {
    error: new GimbalError('RUNNER_TIMED_OUT', `Cannot answer: the model ${what} and was ended`),
    end: { cause: 'hung', because },
  };
}

export function silent(ms: number): RunnerLoss {
  return {
    error: new GimbalError(
      'RUNNER_TIMED_OUT',
      `Cannot answer: the model process was silent for ${Math.round(ms)} ms and was ended`,
    ),
    end: { cause: 'hung', because: 'silent' },
  };
}

export function unavailable(reason: string): RunnerLoss {
  return {
    error: new GimbalError('MODEL_UNAVAILABLE', `Cannot load the model: ${reason}`),
    end: { cause: 'stopped' },
  };
}

export function stopped(): RunnerLoss {
  return {
    error: new GimbalError('DRAINING', 'Cannot answer: the runner was stopped before the batch was finished'),
    end: { cause: 'stopped' },
  };
}

function crashed(ending: string): GimbalError {
  return new GimbalError('RUNNER_CRASHED', `Cannot answer: the model process crashed (${ending})`);
}

function outOfMemory(by: 'kernel' | 'itself', ending: string): RunnerLoss {
  return {
    error: new GimbalError('OUT_OF_MEMORY', `Cannot answer: the model process ran out of memory (${ending})`),
    end: { cause: 'oom-killed', by },
  };
}
