import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import type { RestartBackoff, RunnerFault } from '@gimbal/core';
import { afterEach, describe, expect, it } from 'vitest';
import type { StartGate } from './start-gate.ts';
import { PoolHarness, type PoolHarnessOptions } from './testing/pool-harness.ts';
import { gone } from './testing/process-state.ts';
import { type SampleModel, type SampleParts, sampleVersion } from './testing/sample-version.ts';
import { int64 } from './testing/tensor-bytes.ts';

const BROKEN_RUNNER = fileURLToPath(new URL('./testing/broken-runner.ts', import.meta.url));
const AT_ONCE: Pick<RestartBackoff, 'next'> = { next: () => ({ state: 'backoff', delayMs: 0 }) };
const NEVER_AGAIN: Pick<RestartBackoff, 'next'> = { next: () => ({ state: 'backoff', delayMs: 1e9 }) };
const DIGIT = { tensors: [{ bytes: new Uint8Array(256), shape: [1, 64] }] };

const opened: PoolHarness[] = [];

function open(model: SampleModel, parts: SampleParts = {}, options: PoolHarnessOptions = {}): PoolHarness {
  const harness = new PoolHarness(sampleVersion(model, parts), options);
  opened.push(harness);
  return harness;
}

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

function lost(harness: PoolHarness, count = 1): Promise<void> {
  return harness.until(() => harness.lost.length >= count, 'a runner is lost');
}

function inject(harness: PoolHarness, id: string, fault: RunnerFault, durationMs = 60_000): void {
  harness.pool.inject?.(id, { id: 1, fault, batches: 1000, durationMs });
}

afterEach(async () => {
  for (const harness of opened.splice(0)) {
    const pids = harness.pool.views.map(({ pid }) => pid);
    await harness.stop(0);
    for (const pid of pids) if (pid !== undefined) expect(await gone(pid)).toBe(true);
  }
});

describe('The end of a runner is told', () => {
  it('as a kill from outside after kill -9, busy or idle', async () => {
    const harness = open('sequence-slow', { runners: { count: 2 } }, { restarts: NEVER_AGAIN });
    const [busy, idle] = [await harness.runner(0), await harness.runner(1)];
    const batch = harness.run(busy, longBatch(), 1e9);
    for (const id of [busy, idle]) process.kill(pidOf(harness, id), 'SIGKILL');
    await lost(harness, 2);
    expect(harness.lost.map(({ end }) => end)).toEqual([{ cause: 'killed' }, { cause: 'killed' }]);
    harness.release(batch);
  });

  it('as a crash, with the exit code', async () => {
    const harness = open('digits-mlp', {}, { restarts: NEVER_AGAIN, drills: true });
    const id = await harness.runner();
    inject(harness, id, { kind: 'crash' });
    const batch = harness.run(id, [DIGIT]);
    await lost(harness);
    expect(harness.lost[0]?.end).toEqual({ cause: 'crashed', signal: undefined, exitCode: 139 });
    harness.release(batch);
  });

  it('as a hang, when its batch is over the limit', async () => {
    const harness = open('sequence-slow', {}, { restarts: NEVER_AGAIN, limits: { hangFloorMs: 300 } });
    const id = await harness.runner();
    const batch = harness.run(id, longBatch(), 1);
    await lost(harness);
    expect(harness.lost[0]?.end).toEqual({ cause: 'hung', because: 'slow' });
    harness.release(batch);
  });

  it('as a hang long before that limit, when all its deadlines have passed', async () => {
    const limits = { hangFloorMs: 100, expiredGraceMs: 50 };
    const harness = open('sequence-slow', {}, { restarts: NEVER_AGAIN, limits });
    const id = await harness.runner();
    // By its prediction alone it would be given five times as long.
    const batch = harness.run(id, longBatch(), 100, performance.now() + 1);
    await lost(harness);
    expect(harness.lost[0]?.end).toEqual({ cause: 'hung', because: 'expired' });
    harness.release(batch);
  });

  it('as for want of memory, when it says so and aborts', async () => {
    const harness = openBroken('aborts-for-memory', { restarts: NEVER_AGAIN });
    const id = await harness.runner();
    const batch = harness.run(id, [DIGIT]);
    await lost(harness);
    expect(harness.lost).toMatchObject([
      { error: { code: 'OUT_OF_MEMORY' }, end: { cause: 'oom-killed', by: 'itself' } },
    ]);
    harness.release(batch);
  });

  it('as stopped, when the host has stopped it', async () => {
    const harness = open('digits-mlp');
    await harness.runner();
    await harness.stop();
    expect(harness.lost.map(({ end }) => end)).toEqual([{ cause: 'stopped' }]);
  });
});

describe('A spare runner', () => {
  it('takes over when another is killed, without a model load, and its place is filled again', async () => {
    const harness = open('digits-mlp', { runners: { spare: 1 } }, { restarts: AT_ONCE });
    const first = await harness.runner();
    const isWarm = () => harness.pool.views.some(({ spare, state }) => spare && state === 'ready');
    await expect.poll(isWarm, { timeout: 15_000 }).toBe(true);
    expect(harness.ready).toHaveLength(1);
    const spare = harness.pool.views.find((view) => view.spare)?.id;
    process.kill(pidOf(harness, first), 'SIGKILL');
    const second = await harness.runner(1);
    expect(second).toBe(spare);
    expect(harness.log).toEqual([
      `ready ${first}`,
      `lost ${first} RUNNER_CRASHED`,
      `ready ${second}`,
      `took-over ${second}`,
    ]);
    expect(harness.notices).toEqual([{ kind: 'took-over', runner: second, lost: first }]);
    const [part] = await harness.results(second, [DIGIT]);
    expect(part?.ok).toBe(true);
    await expect.poll(isWarm, { timeout: 15_000 }).toBe(true);
    expect(harness.ready).toHaveLength(2);
  });

  it('that dies itself is replaced, and nobody is told of it', async () => {
    const harness = open('digits-mlp', { runners: { spare: 1 } }, { restarts: AT_ONCE });
    await harness.runner();
    const warm = () => harness.pool.views.find(({ spare, state }) => spare && state === 'ready');
    await expect.poll(warm, { timeout: 15_000 }).toBeDefined();
    const pid = warm()?.pid as number;
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => warm()?.pid !== pid && warm(), { timeout: 15_000 }).toBeTruthy();
    expect(harness.lost).toEqual([]);
    expect(harness.ready).toHaveLength(1);
  });
});

/** One at a time; says how many were inside at most. */
class NarrowGate implements StartGate {
  most = 0;
  turns = 0;
  readonly #waiting: (() => void)[] = [];
  #inside = 0;

  enter(start: (leave: () => void) => void): void {
    const begin = () => {
      this.#inside += 1;
      this.turns += 1;
      this.most = Math.max(this.most, this.#inside);
      start(() => {
        this.#inside -= 1;
        this.#waiting.shift()?.();
      });
    };
    if (this.#inside === 0) begin();
    else this.#waiting.push(begin);
  }
}

describe('Restarts', () => {
  it('of runners that crash together happen one at a time through a gate, and all come back', async () => {
    const gate = new NarrowGate();
    const harness = open('digits-mlp', { runners: { count: 3 } }, { restarts: AT_ONCE, gate });
    await harness.runner(2);
    expect(gate.turns).toBe(0);
    for (const { pid } of harness.pool.views) process.kill(pid as number, 'SIGKILL');
    await harness.runner(5);
    expect(gate).toMatchObject({ turns: 3, most: 1 });
  });

  it('give their turn back when the process dies while it loads', async () => {
    const gate = new NarrowGate();
    let exits = 0;
    const restarts: Pick<RestartBackoff, 'next'> = {
      next: () => {
        exits += 1;
        return { state: 'backoff', delayMs: exits < 4 ? 0 : 1e9 };
      },
    };
    const harness = openBroken('crashes-at-load', { restarts, gate });
    await expect.poll(() => exits, { timeout: 15_000 }).toBe(4);
    expect(gate).toMatchObject({ turns: 3, most: 1 });
    expect(harness.pool.views).toMatchObject([{ state: 'backoff' }]);
  });
});

describe('A crash loop', () => {
  it('at load is a fault that is probed, and over when the model is mended', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gimbal-'));
    let exits = 0;
    const restarts: Pick<RestartBackoff, 'next'> = {
      next: () => {
        exits += 1;
        return exits < 3 ? { state: 'backoff', delayMs: 0 } : { state: 'faulted', delayMs: 10 };
      },
    };
    const parts = { model: 'crashes-until-fixed', folder };
    const harness = open('digits-mlp', parts, { program: BROKEN_RUNNER, restarts });
    await expect.poll(() => exits, { timeout: 15_000 }).toBeGreaterThan(4);
    expect(harness.faults).toMatchObject([{ code: 'MODEL_UNAVAILABLE' }]);
    expect(harness.ready).toEqual([]);
    writeFileSync(join(folder, 'fixed'), '');
    await harness.until(() => harness.ready.length > 0, 'a runner is ready');
    expect(harness.faults.slice(1)).toEqual([undefined]);
    rmSync(folder, { recursive: true });
  });
});

describe('Faults', () => {
  it('are refused by a pool without drills', async () => {
    const harness = open('digits-mlp');
    const id = await harness.runner();
    expect(() => inject(harness, id, { kind: 'crash' })).toThrow('expected "drills: true"');
    const [part] = await harness.results(id, [DIGIT]);
    expect(part?.ok).toBe(true);
  });

  it('of a runner end when they are relieved', async () => {
    const harness = open('digits-mlp', {}, { drills: true });
    const id = await harness.runner();
    const order = {
      id: 5,
      fault: { kind: 'fail', ratio: 1, code: 'MODEL_FAULT' } as const,
      batches: 100,
      durationMs: 60_000,
    };
    harness.pool.inject?.(id, order);
    const [broken] = await harness.results(id, [DIGIT]);
    expect(broken).toMatchObject({ ok: false, code: 'MODEL_FAULT' });
    harness.pool.relieve?.(id, order);
    const [whole] = await harness.results(id, [DIGIT]);
    expect(whole?.ok).toBe(true);
  });

  it('of a frozen runner look like a hang, and are over when it is thawed in time', async () => {
    const harness = open('digits-mlp', {}, { drills: true });
    const id = await harness.runner();
    inject(harness, id, { kind: 'freeze' });
    const batch = harness.run(id, [DIGIT], 60_000);
    harness.pool.relieve?.(id, { id: 1, fault: { kind: 'freeze' }, batches: 1, durationMs: 1 });
    expect((await harness.report(batch)).parts[0]?.ok).toBe(true);
    harness.release(batch);
  });
});

it('A leak is told before the runner is replaced for it, and the replacement is there first', async () => {
  const recycleGrowthBytes = 1e12;
  const harness = open('digits-mlp', { runners: { recycleGrowthBytes } }, { drills: true });
  const id = await harness.runner();
  inject(harness, id, { kind: 'leak', bytesPerBatch: 4 * 1024 * 1024 });
  // Measured a few times a second only: each batch must wait for a new number to be a sample.
  const batch = Array.from({ length: 10 }, () => DIGIT);
  for (let run = 0; run < 128 && !harness.retiring.includes(id); run += 1) {
    await harness.results(id, batch);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const notice = harness.notices.find(({ kind }) => kind === 'memory-growth');
  expect(notice).toMatchObject({ runner: id, verdict: 'growing' });
  const order = ['memory-growth', 'recycling', 'retiring'].map((kind) =>
    harness.log.indexOf(`${kind} ${id}`),
  );
  expect(order).toEqual([...order].sort((left, right) => left - right));
  expect(order[0]).toBeGreaterThan(0);
  expect(harness.ready).toHaveLength(2);
}, 60_000);

it('The host is protected before its runners: they are nicer, and the kernel ends them first', async () => {
  if (process.platform !== 'linux') return;
  const harness = open('digits-mlp');
  const pid = pidOf(harness, await harness.runner());
  const score = (of: number | 'self') => Number(readFileSync(`/proc/${of}/oom_score_adj`, 'latin1'));
  const niceness = (of: number | 'self') => {
    const stat = readFileSync(`/proc/${of}/stat`, 'latin1');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
  };
  const refused = harness.notices.filter(({ kind }) => kind === 'limitation').length;
  if (refused > 0) return;
  expect(score(pid)).toBe(Math.min(1000, Math.max(0, score('self')) + 500));
  expect(niceness(pid)).toBeGreaterThan(niceness('self'));
});
