import { performance } from 'node:perf_hooks';
import { Doorbell } from '../transport/doorbell.ts';
import { InjectedFaults } from './injected-faults.ts';
import { ownMemoryBytes } from './own-memory.ts';
import { dieWithParent } from './parent-watch.ts';
import { Runner } from './runner.ts';

/**
 * The child program: one model variant in one process. Descriptor 3 is the doorbell, 4 the arena where memory is
 * shared. It lives exactly as long as the doorbell is open.
 */
const DOORBELL_FD = 3;
const ARENA_FD = 4;
/** Measuring memory costs a system call or two; batches are reported far more often. A leak is seen after 32 samples. */
const MEMORY_SAMPLE_MS = 100;

/** Exit status when the host sent something that is not our protocol, or the program itself failed. */
const EXIT_BROKEN = 70;

dieWithParent();
// Signals to the whole process group are for the host, which drains first and then stops its runners.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

/** Given by a host whose configuration says `drills: true`. */
const DRILLS_FLAG = '--drills';

let sampledAt = Number.NEGATIVE_INFINITY;
let sampledBytes = 0;

function residentBytes(): number {
  const now = performance.now();
  if (now - sampledAt >= MEMORY_SAMPLE_MS) {
    sampledAt = now;
    sampledBytes = ownMemoryBytes(() => process.memoryUsage.rss());
  }
  return sampledBytes;
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function logError(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
}

const doorbell: Doorbell = new Doorbell(
  DOORBELL_FD,
  {
    onFrame: (kind, body) => {
      if (kind === 'run') runner.onRun(body);
      else if (kind === 'control') runner.onControl(body);
    },
    onMalformed: (error) => {
      logError(error);
      process.exit(EXIT_BROKEN);
    },
    onClosed: () => process.exit(0),
  },
  { reuseLarge: true },
);

/** Blocks this thread and nothing else: as a run of the runtime does. */
function pause(ms: number): void {
  if (ms > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const faults = process.argv.includes(DRILLS_FLAG)
  ? new InjectedFaults({ now: () => performance.now(), pause, exit: (code) => process.exit(code) })
  : undefined;

const runner = new Runner({
  doorbell,
  faults,
  arenaFd: ARENA_FD,
  residentBytes,
  processorMs,
  setTitle: (title) => {
    process.title = title;
  },
  logError,
  exit: (code) => process.exit(code),
});
runner.start();
