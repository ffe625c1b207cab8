import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';

/** The host comes first: on a busy core it must still read, refuse and answer while models compute. */
const RUNNER_NICENESS = 5;
/** When memory runs out the kernel should end a runner, which can be replaced, and not the host. */
const RUNNER_OOM_SCORE = 500;

/** What must not be inherited: options meant for the host, such as its inspector's port. */
const HOST_ONLY_VARIABLES = new Set(['NODE_OPTIONS', 'NODE_V8_COVERAGE', 'NODE_CHANNEL_FD']);

const RUNS_FROM_SOURCE = import.meta.url.endsWith('.ts');
/** The runner's program; tests start others in its place. */
export const RUNNER_MAIN = fileURLToPath(
  new URL(`../runner/main.${RUNS_FROM_SOURCE ? 'ts' : 'js'}`, import.meta.url),
);

/** A runner's operating-system process. */
export interface RunnerChild {
  readonly pid: number | undefined;
  readonly doorbell: Socket;
  kill(): void;
}

export interface ChildEvents {
  /** The process has ended, or could not be started: `ending` says how, for people. Called once. */
  onExit(ending: string): void;
  onOutput(stream: 'stdout' | 'stderr', text: string): void;
}

export interface ChildOptions {
  readonly program: string;
  /** Becomes descriptor 4 of the process. */
  readonly arenaFd: number | undefined;
}

/** Starts a runner's process. A failure to start is told as its end, later. */
export function startChild(options: ChildOptions, events: ChildEvents): RunnerChild {
  let ended = false;
  const onExit = (ending: string): void => {
    if (ended) return;
    ended = true;
    events.onExit(ending);
  };
  const child = trySpawn(options);
  if (child instanceof Error) {
    void Promise.resolve().then(() => onExit(notStarted(child)));
    return { pid: undefined, doorbell: new Socket(), kill: () => {} };
  }
  child.on('exit', (code, signal) => onExit(signal === null ? `exit code ${code}` : `signal ${signal}`));
  child.on('error', (error) => {
    // Errors of a running process are about signals that came too late.
    if (child.pid === undefined) onExit(notStarted(error));
  });
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.setEncoding('utf8').on('data', (text: string) => events.onOutput(stream, text));
  }
  if (child.pid !== undefined) lowerPriority(child.pid);
  return {
    pid: child.pid,
    doorbell: doorbellOf(child),
    kill: () => {
      child.kill('SIGKILL');
    },
  };
}

function trySpawn({ program, arenaFd }: ChildOptions): ChildProcess | Error {
  try {
    return spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program], {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe', ...(arenaFd === undefined ? [] : [arenaFd])],
      env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !HOST_ONLY_VARIABLES.has(name))),
      windowsHide: true,
    });
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function doorbellOf(child: ChildProcess): Socket {
  // When descriptors have run out there are no streams at all, whatever the types say.
  const streams = child.stdio as ChildProcess['stdio'] | undefined;
  const doorbell = streams?.[3];
  return doorbell instanceof Socket ? doorbell : new Socket();
}

function notStarted(error: Error): string {
  return `it could not be started: ${(error as NodeJS.ErrnoException).code ?? 'unknown reason'}`;
}

/** Best effort: containers may forbid either. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, RUNNER_NICENESS);
  } catch {
    // The runner works without.
  }
  if (process.platform !== 'linux') return;
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, String(RUNNER_OOM_SCORE));
  } catch {
    // The runner works without.
  }
}
