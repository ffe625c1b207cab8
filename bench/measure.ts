import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import type { Job } from './jobs.ts';
import type { LoadMode, LoadPlan, LoadResult } from './loadgen/plan.ts';
import { CLIENT_CORE, output, SERVER_CORE, spawnPinned } from './pinned.ts';
import { type TreeUsage, treeUsage } from './process-tree.ts';

const START_LIMIT_MS = 120_000;

/** A server under test, pinned to the server core with its whole tree. */
export interface ServerUnderTest {
  readonly host: string;
  readonly port: number;
  readonly adminUrl: string;
  readonly pid: number;
  /** From spawn to the `ready` line. */
  readonly startMs: number;
  stop(): Promise<void>;
}

export async function startGimbal(models: string, flags: readonly string[] = []): Promise<ServerUnderTest> {
  const spawned = performance.now();
  const child = spawnPinned(
    SERVER_CORE,
    [
      process.execPath,
      'packages/cli/src/main.ts',
      'serve',
      models,
      '--port',
      '0',
      '--admin-port',
      '0',
      '--grpc-port',
      '0',
      '--json',
      ...flags,
    ],
    { stderr: 'ignore', env: { GIMBAL_LOG_LEVEL: process.env.GIMBAL_LOG_LEVEL ?? 'info' } },
  );
  const ready = await readyLine(child);
  const http = new URL(ready.http);
  return {
    host: http.hostname,
    port: Number(http.port),
    adminUrl: ready.admin,
    pid: ready.pid,
    startMs: performance.now() - spawned,
    stop: () =>
      new Promise((resolve) => {
        child.once('close', () => resolve());
        child.kill('SIGTERM');
        // A second signal, later than one that came on two ways would be, shortens the drain.
        setTimeout(() => child.kill('SIGTERM'), 700);
      }),
  };
}

function readyLine(child: ChildProcess): Promise<{ http: string; admin: string; pid: number }> {
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`Cannot start the server: no ready line within ${START_LIMIT_MS} ms`));
    }, START_LIMIT_MS);
    child.once('close', (code) => reject(new Error(`Cannot start the server: exit code ${code}`)));
    if (!child.stdout) return;
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (!line.startsWith('{')) return;
      const event = JSON.parse(line) as { event?: string; http: string; admin: string; pid: number };
      if (event.event !== 'ready') return;
      clearTimeout(limit);
      resolve(event);
    });
  });
}

export interface BareResult {
  readonly itemsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMsPerItem: number;
}

export async function runBare(job: Job, scratch: string, seconds: number): Promise<BareResult> {
  const file = join(scratch, `${job.name}.bare.json`);
  writeFileSync(file, JSON.stringify(job.bare));
  const child = spawnPinned(SERVER_CORE, [process.execPath, 'bench/bare.ts', file, String(seconds)], {
    stderr: 'inherit',
  });
  return JSON.parse(await output(child)) as BareResult;
}

export interface LoadMeasurement {
  readonly load: LoadResult;
  /** CPU of the server's whole tree per good answer, over the run with its warm-up; undefined off Linux. */
  readonly cpuMsPerAnswer: number | undefined;
  readonly after: TreeUsage | undefined;
}

export async function runLoad(
  server: Pick<ServerUnderTest, 'host' | 'port' | 'pid'>,
  job: Pick<Job, 'name' | 'cases'>,
  options: { mode: LoadMode; deadlineMs: number | undefined; scratch: string },
): Promise<LoadMeasurement> {
  const plan: LoadPlan = {
    host: server.host,
    port: server.port,
    cases: job.cases,
    mode: options.mode,
    deadlineMs: options.deadlineMs,
  };
  const file = join(options.scratch, `${job.name}.plan.json`);
  writeFileSync(file, JSON.stringify(plan));
  const before = treeUsage(server.pid);
  const child = spawnPinned(CLIENT_CORE, [process.execPath, 'bench/loadgen/main.ts', file], {
    stderr: 'inherit',
  });
  const load = JSON.parse(await output(child)) as LoadResult;
  const after = treeUsage(server.pid);
  const seconds =
    options.mode.kind === 'closed' ? options.mode.seconds + options.mode.warmupSeconds : load.seconds;
  const answers = load.goodPerSecond * seconds;
  const cpuMsPerAnswer =
    before && after && answers > 0 ? ((after.cpuSeconds - before.cpuSeconds) * 1000) / answers : undefined;
  return { load, cpuMsPerAnswer, after };
}
