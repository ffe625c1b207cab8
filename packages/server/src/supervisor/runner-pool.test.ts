import { spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GimbalError, type RestartBackoff } from '@gimbal/core';
import { afterEach, describe, expect, test } from 'vitest';
import { PoolHarness, type PoolHarnessOptions } from './testing/pool-harness.ts';
import { gone, isAlive } from './testing/process-state.ts';
import { type SampleModel, type SampleParts, sampleVersion } from './testing/sample-version.ts';
import { int64 } from './testing/tensor-bytes.ts';

const SAMPLES = fileURLToPath(new URL('../../../../tests/fixtures/samples/', import.meta.url));
const BROKEN_RUNNER = fileURLToPath(new URL('./testing/broken-runner.ts', import.meta.url));
const ORPHAN_HOST = fileURLToPath(new URL('./testing/orphan-host.ts', import.meta.url));

const AT_ONCE: Pick<RestartBackoff, 'next'> = { next: () => ({ state: 'backoff', delayMs: 0 }) };
const DIGIT = { tensors: [{ bytes: new Uint8Array(256), shape: [1, 64] }] };

const opened: PoolHarness[] = [];

function open(model: SampleModel, parts: SampleParts = {}, options: PoolHarnessOptions = {}): PoolHarness {
  const harness = new PoolHarness(sampleVersion(model, parts), options);
  opened.push(harness);
  return harness;
}

/** A pool of runners that misbehave as `misbehaviour` says. */
function openBroken(misbehaviour: string, options: PoolHarnessOptions = {}): PoolHarness {
  return open('digits-mlp', { model: misbehaviour }, { program: BROKEN_RUNNER, ...options });
}

function pidOf(harness: PoolHarness, id: string): number {
  const pid = harness.pool.views.find((view) => view.id === id)?.pid;
  if (pid === undefined) throw new Error('no such process');
  return pid;
}

/** A batch that computes for minutes. */
function longBatch() {
  return [{ tensors: [{ bytes: int64(1_000_000), shape: [1, 1] }] }];
}

afterEach(async () => {
  for (const harness of opened.splice(0)) {
    const pids = harness.pool.views.map(({ pid }) => pid);
    await harness.stop(0);
    for (const pid of pids) if (pid !== undefined) expect(await gone(pid)).toBe(true);
  }
});

describe('A pool', () => {
  test('starts as many runners as declared, and tells what each has learned', async () => {
    const harness = open('digits-mlp', { runners: { count: 2 } });
    await harness.runner(1);
    const [first] = harness.ready;
    expect(new Set(harness.ready.map(({ id }) => id)).size).toBe(2);
    expect(first?.ready.signature).toEqual(sampleVersion('digits-mlp').signature);
    expect(first?.ready.device).toBe('cpu');
    expect(first?.ready.profile.fixedMs).toBeGreaterThan(0);
    expect(first?.ready.profile.points[0]?.rows).toBe(1);
    for (const view of harness.pool.views) {
      expect(view).toMatchObject({ state: 'ready', restarts: 0, transport: 'shared-memory' });
      expect(view.residentBytes).toBeGreaterThan(1_000_000);
    }
  });

  test('stops idle runners in order, and says that they retire before they are gone', async () => {
    const harness = open('digits-mlp');
    const id = await harness.runner();
    const pid = pidOf(harness, id);
    await harness.stop();
    expect(isAlive(pid)).toBe(false);
    expect(harness.log.slice(-2)).toEqual([`retiring ${id}`, `lost ${id} DRAINING`]);
    expect(harness.pool.views).toEqual([]);
  });

  test('finishes batches in flight when it is stopped', async () => {
    const harness = open('sequence-slow');
    const id = await harness.runner();
    const batch = harness.run(id, [{ tensors: [{ bytes: int64(100), shape: [1, 1] }] }]);
    const stopped = harness.stop(10_000);
    const report = await harness.report(batch);
    expect(report.parts[0]?.ok).toBe(true);
    harness.release(batch);
    await stopped;
    expect(harness.arena.used).toBe(0);
  });

  test('ends batches that are longer than the grace of a stop', async () => {
    const harness = open('sequence-slow');
    const id = await harness.runner();
    const batch = harness.run(id, longBatch(), 1e9);
    await harness.stop(50);
    expect(harness.lost).toMatchObject([{ id, error: { code: 'DRAINING' } }]);
    harness.release(batch);
    expect(harness.arena.used).toBe(0);
  });

  test('stops while its runners are still starting', async () => {
    const harness = open('digits-mlp', { runners: { count: 2 } });
    const pids = harness.pool.views.map(({ pid }) => pid as number);
    await harness.stop();
    expect(pids.filter(isAlive)).toEqual([]);
    expect(harness.log).toEqual([]);
  });
});

describe('A runner that is lost', () => {
  test('by kill -9 in the middle of a batch is told as a crash and replaced', async () => {
    const harness = open('sequence-slow', {}, { restarts: AT_ONCE });
    const id = await harness.runner();
    const batch = harness.run(id, longBatch(), 1e9);
    process.kill(pidOf(harness, id), 'SIGKILL');
    const next = await harness.runner(1);
    expect(harness.lost).toMatchObject([
      {
        id,
        error: {
          code: 'RUNNER_CRASHED',
          message: 'Cannot answer: the model process crashed (signal SIGKILL)',
        },
      },
    ]);
    expect(next).not.toBe(id);
    harness.release(batch);
    expect(harness.arena.used).toBe(0);
    const [part] = await harness.results(next, [{ tensors: [{ bytes: int64(1), shape: [1, 1] }] }]);
    expect(part?.ok).toBe(true);
    expect(harness.pool.views).toMatchObject([{ id: next, restarts: 1, batches: 1 }]);
  });

  test('takes with it the output memory that it was lent', async () => {
    const harness = open('digits-mlp', {}, { restarts: AT_ONCE });
    const id = await harness.runner();
    process.kill(pidOf(harness, id), 'SIGSTOP');
    const rows = 1000;
    const batch = harness.run(id, [
      { tensors: [{ bytes: new Uint8Array(rows * 256), shape: [rows, 64] }], rows },
    ]);
    const lent = harness.arena.used;
    harness.pool.kill(id, new GimbalError('RUNNER_TIMED_OUT', 'Cannot answer: a test ended the runner'));
    await harness.until(() => harness.lost.length > 0, 'the runner is lost');
    expect(harness.lost).toMatchObject([{ id, error: { code: 'RUNNER_TIMED_OUT' } }]);
    expect(harness.arena.used).toBeLessThan(lent);
    harness.release(batch);
    expect(harness.arena.used).toBe(0);
  });

  test('waits for its restart in back-off', async () => {
    const harness = open(
      'digits-mlp',
      {},
      { restarts: { next: () => ({ state: 'backoff', delayMs: 1e9 }) } },
    );
    const id = await harness.runner();
    process.kill(pidOf(harness, id), 'SIGKILL');
    await harness.until(() => harness.lost.length > 0, 'the runner is lost');
    expect(harness.pool.views).toMatchObject([{ id, state: 'backoff', pid: undefined, restarts: 1 }]);
    expect(harness.faults).toEqual([]);
  });
});

describe('A runner that hangs', () => {
  test('in a batch is ended when the limit is over', async () => {
    const harness = open('sequence-slow', {}, { restarts: AT_ONCE, limits: { hangFloorMs: 300 } });
    const id = await harness.runner();
    const batch = harness.run(id, longBatch(), 1);
    await harness.until(() => harness.lost.length > 0, 'the runner is lost');
    expect(harness.lost).toMatchObject([{ id, error: { code: 'RUNNER_TIMED_OUT' } }]);
    harness.release(batch);
  });

  test('while it is idle is found by its silence', async () => {
    const harness = open(
      'digits-mlp',
      {},
      { restarts: AT_ONCE, limits: { heartbeatEveryMs: 100, heartbeatLimitMs: 400 } },
    );
    const id = await harness.runner();
    process.kill(pidOf(harness, id), 'SIGSTOP');
    await harness.until(() => harness.lost.length > 0, 'the runner is lost');
    expect(harness.lost).toMatchObject([{ id, error: { code: 'RUNNER_TIMED_OUT' } }]);
  });

  test('in its start is ended', async () => {
    const restarts: Pick<RestartBackoff, 'next'> = { next: () => ({ state: 'faulted', delayMs: 1e9 }) };
    const harness = openBroken('never-loads', { restarts, limits: { loadMs: 200 } });
    await harness.until(() => harness.faults.length > 0, 'the fault is told');
    expect(harness.faults[0]?.message).toBe('Cannot load the model: it took longer than 200 ms');
    expect(harness.lost).toEqual([]);
  });

  test('instead of stopping is ended', async () => {
    const harness = openBroken('ignores-stop', { limits: { stopMs: 100 } });
    await harness.runner();
    await harness.stop(10_000);
    expect(harness.lost).toHaveLength(1);
  });
});

describe('A runner that breaks the protocol is ended and the host lives on', () => {
  test.each([
    'sends-noise',
    'sends-half-a-report',
    'reports-another-batch',
    'sends-a-run',
    'closes-its-doorbell',
  ])('when it %s', async (misbehaviour) => {
    const harness = openBroken(misbehaviour);
    const id = await harness.runner();
    const batch = harness.run(id, [DIGIT]);
    await harness.until(() => harness.lost.length > 0, 'the runner is lost');
    expect(harness.lost).toMatchObject([{ id, error: { code: 'RUNNER_CRASHED' } }]);
    harness.release(batch);
    expect(harness.arena.used).toBe(0);
  });

  test('when it is ready without saying what it takes', async () => {
    const harness = openBroken('ready-without-signature', {
      restarts: { next: () => ({ state: 'faulted', delayMs: 1e9 }) },
    });
    await harness.until(() => harness.faults.length > 0, 'the fault is told');
    expect(harness.ready).toEqual([]);
  });
});

test('What a runner prints arrives line by line, and a flood of it is cut', async () => {
  const harness = openBroken('floods-its-log');
  const id = await harness.runner();
  await harness.stop();
  expect(harness.lines[0]).toEqual({ runner: id, stream: 'stderr', text: 'a line of the log' });
  expect(harness.lines.length).toBeLessThan(1000);
  expect(harness.lines.at(-1)?.text).toMatch(/^\d+ lines left out: more than 100 in a second$/);
});

describe('A variant', () => {
  test('that crashes in a loop is at fault, and only once', async () => {
    let exits = 0;
    const restarts: Pick<RestartBackoff, 'next'> = {
      next: () => {
        exits += 1;
        return exits < 3
          ? { state: 'backoff', delayMs: 0 }
          : { state: 'faulted', delayMs: exits < 5 ? 0 : 1e9 };
      },
    };
    const harness = openBroken('crashes-at-load', { restarts });
    await harness.until(() => harness.faults.length > 0, 'the fault is told');
    expect(exits).toBe(3);
    expect(harness.faults[0]).toMatchObject({
      code: 'MODEL_UNAVAILABLE',
      message:
        'Cannot run the model: its process ends again and again, last because "Cannot answer: the model process crashed (exit code 3)"',
    });
    expect(harness.pool.views[0]?.state).toBe('faulted');
  });

  test('that could not be loaded is probed, and its recovery is told', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gimbal-'));
    const file = join(folder, 'model.onnx');
    const sample = sampleVersion('digits-mlp');
    const variants = [{ name: 'model', file, qualityRatio: undefined, image: undefined }];
    const harness = open(
      'digits-mlp',
      { variants },
      { restarts: { next: () => ({ state: 'faulted', delayMs: 50 }) } },
    );
    await harness.until(() => harness.faults.length > 0, 'the fault is told');
    copyFileSync(sample.variants[0]?.file ?? '', file);
    await harness.until(() => harness.faults.length > 1, 'the recovery is told');
    expect(harness.faults).toMatchObject([
      { code: 'MODEL_UNAVAILABLE', message: "Cannot load the model: the file can't be opened" },
      undefined,
    ]);
    rmSync(folder, { recursive: true });
  });
});

test('A model file that is broken puts the variant at fault at once, with the reason', async () => {
  const file = join(SAMPLES, 'broken-models', 'opset-999.onnx');
  const variants = [{ name: 'model', file, qualityRatio: undefined, image: undefined }];
  const harness = open('digits-mlp', { variants });
  await harness.until(() => harness.faults.length > 0, 'the fault is told');
  expect(harness.faults[0]).toMatchObject({
    code: 'MODEL_UNAVAILABLE',
    message: 'Cannot load the model: it needs opset 999, expected at most 26',
  });
  expect(harness.pool.views).toMatchObject([{ state: 'faulted', restarts: 1 }]);
  expect(harness.ready).toEqual([]);
});

describe('Recycling', () => {
  test('by batches, under load, leaves no moment without a runner', async () => {
    const harness = open('digits-mlp', { runners: { recycleBatches: 20 } });
    let id = await harness.runner();
    const used = new Set<string>();
    let failed = 0;
    // Whoever was ready last and does not retire takes the next batch: it must always exist and answer.
    while (used.size < 3) {
      id = harness.ready.findLast((entry) => !harness.retiring.includes(entry.id))?.id ?? '';
      used.add(id);
      const [part] = await harness.results(id, [DIGIT]);
      if (!part?.ok) failed += 1;
    }
    expect(failed).toBe(0);
    expect(harness.faults).toEqual([]);
    const first = harness.ready[0]?.id;
    expect(harness.log.indexOf(`ready ${harness.ready[1]?.id}`)).toBeLessThan(
      harness.log.indexOf(`retiring ${first}`),
    );
    await harness.until(() => harness.lost.length > 0, 'the first runner is gone');
    expect(harness.lost[0]).toMatchObject({ id: first });
    expect(harness.pool.views[0]?.restarts).toBe(0);
  });

  test('by growth of memory', async () => {
    const harness = open('memory-hog', { runners: { recycleGrowthBytes: 50 * 1024 * 1024 } });
    const id = await harness.runner();
    await harness.results(id, [{ tensors: [{ bytes: int64(100), shape: [1, 1] }] }]);
    await harness.until(() => harness.retiring.includes(id), 'the grown runner retires');
  });

  test('by age', async () => {
    const harness = open('digits-mlp', { runners: { recycleAgeMs: 200 } });
    const id = await harness.runner();
    await harness.until(() => harness.retiring.includes(id), 'the old runner retires');
    expect(harness.ready.length).toBeGreaterThan(1);
  });
});

test('A runner dies with its host, even in the middle of a run', async () => {
  const host = spawn(process.execPath, [ORPHAN_HOST], { stdio: ['ignore', 'pipe', 'inherit'] });
  const pid = await new Promise<number>((resolve) => {
    host.stdout.setEncoding('utf8').once('data', (text: string) => resolve(Number(text)));
  });
  expect(isAlive(pid)).toBe(true);
  host.kill('SIGKILL');
  expect(await gone(pid)).toBe(true);
});

test('Signals to the process group do not end a runner', async () => {
  const harness = open('digits-mlp');
  const id = await harness.runner();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(pidOf(harness, id), signal);
  const [part] = await harness.results(id, [DIGIT]);
  expect(part?.ok).toBe(true);
});
