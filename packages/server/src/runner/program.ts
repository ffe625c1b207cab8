import { performance } from 'node:perf_hooks';
import { Doorbell } from '../transport/doorbell.ts';
import { InjectedFaults } from './injected-faults.ts';
import { ownMemoryBytes } from './own-memory.ts';
import { dieWithParent } from './parent-watch.ts';
import { Runner, type RunnerPorts } from './runner.ts';

const DOORBELL_FD = 3;
const ARENA_FD = 4;
/** Measuring memory costs a system call or two; batches are reported far more often. A leak is seen after 32 samples. */
const MEMORY_SAMPLE_MS = 100;

/** Exit status when the host sent something that is not our protocol, or the program itself failed. */
const EXIT_BROKEN = 70;

/** Given by a host whose configuration says `drills: true`. */
const DRILLS_FLAG = '--drills';

/**
 * The child program: one model variant in one process, made by `load`. Descriptor 3 is the doorbell, 4 the arena where
 * memory is shared. It lives exactly as long as the doorbell is open.
 */
export function runProgram(load: RunnerPorts['load']): void {
  dieWithParent();
  // Signals to the whole process group are for the host, which drains first and then stops its runners.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  const now = () => performance.now();
  const exit = (code: number) => process.exit(code);
  const doorbell: Doorbell = new Doorbell(
    DOORBELL_FD,
    {
      onFrame: (kind, body) => {
        if (kind === 'run') runner.onRun(body);
        else if (kind === 'control') runner.onControl(body);
        else if (kind === 'credit') runner.onCredit(body);
        else if (kind === 'cancel') runner.onCancel(body);
      },
      onMalformed: (error) => {
        logError(error);
        exit(EXIT_BROKEN);
      },
      onClosed: () => exit(0),
    },
    { reuseLarge: true },
  );
  const runner = new Runner({
    doorbell,
    faults: process.argv.includes(DRILLS_FLAG) ? new InjectedFaults({ now, pause, exit }) : undefined,
    arenaFd: ARENA_FD,
    load,
    now,
    turn: () => new Promise((resolve) => setImmediate(resolve)),
    residentBytes: sampledMemory(now),
    processorMs,
    setTitle: (title) => {
      process.title = title;
    },
    logError,
    exit,
  });
  runner.start();
}

function sampledMemory(now: () => number): () => number {
  let sampledAt = Number.NEGATIVE_INFINITY;
  let sampledBytes = 0;
  return () => {
    if (now() - sampledAt >= MEMORY_SAMPLE_MS) {
      sampledAt = now();
      sampledBytes = ownMemoryBytes(() => process.memoryUsage.rss());
    }
    return sampledBytes;
  };
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function logError(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
}

/** Blocks this thread and nothing else: as a run of the runtime does. */
function pause(ms: number): void {
  if (ms > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
