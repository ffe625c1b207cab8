import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, readFileSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unreachable } from '@gimbal/core';
import { openLibc } from '../transport/libc.ts';

/** The host comes first: on a busy core it must still read, refuse and answer while models compute. */
const RUNNER_NICENESS = 5;
/** When memory runs out the kernel should end a runner, which can be replaced, and not the host: so much above it. */
const RUNNER_OOM_SCORE = 500;
const MAX_OOM_SCORE = 1000;

/** Argument of the runner's program without which it breaks nothing on purpose. */
const DRILLS_FLAG = '--drills';

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
  /** Our end of the doorbell: a descriptor where we could make it ourselves, else a stream. */
  readonly doorbell: number | Socket;
  kill(): void;
  /** For drills, which break processes as others would. */
  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void;
}

export type ChildExit =
  | { readonly kind: 'not-started'; readonly reason: string }
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signalled'; readonly signal: string };

export interface ChildEvents {
  /** The process has ended, or could not be started. Called once. */
  onExit(exit: ChildExit): void;
  onOutput(stream: 'stdout' | 'stderr', text: string): void;
  /** Something that the process works without could not be had; said during the start. */
  onLimitation(because: string): void;
}

export interface ChildOptions {
  readonly program: string;
  /** Becomes descriptor 4 of the process. */
  readonly arenaFd: number | undefined;
  /** Whether faults may be injected into it. */
  readonly drills: boolean;
}

/** Starts a runner's process. A failure to start is told as its end, later. */
export function startChild(options: ChildOptions, events: ChildEvents): RunnerChild {
  let ended = false;
  const onExit = (exit: ChildExit): void => {
    if (ended) return;
    ended = true;
    events.onExit(exit);
  };
  const pair = socketPair();
  const child = trySpawn(options, pair?.[1] ?? 'pipe');
  // The process has it now, or never will; while we hold it the doorbell would stay open without it.
  if (pair) closeSync(pair[1]);
  if (child instanceof Error) {
    void Promise.resolve().then(() => onExit(notStarted(child)));
    return { pid: undefined, doorbell: pair?.[0] ?? new Socket(), kill: () => {}, signal: () => {} };
  }
  child.on('exit', (code, signal) =>
    onExit(signal === null ? { kind: 'exited', code: code ?? 0 } : { kind: 'signalled', signal }),
  );
  child.on('error', (error) => {
    // Errors of a running process are about signals that came too late.
    if (child.pid === undefined) onExit(notStarted(error));
  });
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.setEncoding('utf8').on('data', (text: string) => events.onOutput(stream, text));
  }
  if (child.pid !== undefined) lowerPriority(child.pid, events);
  return {
    pid: child.pid,
    doorbell: pair?.[0] ?? doorbellOf(child),
    kill: () => {
      child.kill('SIGKILL');
    },
    signal: (name) => {
      child.kill(name);
    },
  };
}

/** For people. */
export function describeExit(exit: ChildExit): string {
  switch (exit.kind) {
    case 'not-started':
      return exit.reason;
    case 'exited':
      return `exit code ${exit.code}`;
    case 'signalled':
      return `signal ${exit.signal}`;
    default:
      return unreachable(exit);
  }
}

/**
 * A socket pair of our own making can be read into memory that is used again, which halves the cost of a round trip;
 * Node's own pipes can't. Undefined where the C library can't be called.
 */
function socketPair(): readonly [number, number] | undefined {
  const libc = openLibc();
  return typeof libc === 'string' ? undefined : libc.socketPair();
}

function trySpawn(
  { program, arenaFd, drills }: ChildOptions,
  doorbell: number | 'pipe',
): ChildProcess | Error {
  try {
    const flags = drills ? [DRILLS_FLAG] : [];
    return spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, ...flags], {
      stdio: ['ignore', 'pipe', 'pipe', doorbell, ...(arenaFd === undefined ? [] : [arenaFd])],
      env: runnerEnvironment(),
      windowsHide: true,
    });
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function runnerEnvironment(): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !HOST_ONLY_VARIABLES.has(name));
  const environment: NodeJS.ProcessEnv = Object.fromEntries(inherited);
  // Compiling TypeScript again for every runner takes half of its start.
  if (RUNS_FROM_SOURCE) environment.NODE_COMPILE_CACHE ??= join(tmpdir(), 'node-compile-cache');
  return environment;
}

function doorbellOf(child: ChildProcess): Socket {
  // When descriptors have run out there are no streams at all, whatever the types say.
  const streams = child.stdio as ChildProcess['stdio'] | undefined;
  const doorbell = streams?.[3];
  return doorbell instanceof Socket ? doorbell : new Socket();
}

function notStarted(error: Error): ChildExit {
  return { kind: 'not-started', reason: `it could not be started: ${codeOf(error)}` };
}

/** Best effort: containers may forbid either, and the runner works without. */
function lowerPriority(pid: number, events: ChildEvents): void {
  try {
    setPriority(pid, RUNNER_NICENESS);
  } catch (error) {
    events.onLimitation(`runners compute at the host's own priority (setpriority: ${codeOf(error)})`);
  }
  if (process.platform !== 'linux') return;
  try {
    const host = Number(readFileSync('/proc/self/oom_score_adj', 'latin1'));
    // Never below the host's own, which only root may go, and which would protect the wrong one.
    const score = Math.min(MAX_OOM_SCORE, Math.max(0, host) + RUNNER_OOM_SCORE);
    writeFileSync(`/proc/${pid}/oom_score_adj`, String(score));
  } catch (error) {
    // One that has ended already needs no protection from.
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ESRCH') return;
    events.onLimitation(
      `when memory runs out the kernel may end the host before its runners (oom_score_adj: ${codeOf(error)})`,
    );
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown reason';
}
