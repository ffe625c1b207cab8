import {
  AnswerCache,
  type Call,
  type CallContext,
  type Clock,
  DEFAULT_STREAM_LIMITS,
  type DecisionRecord,
  type WorkDone,
  type WorkResult,
} from '@gimbal/core';
import { describe, expect, it } from 'vitest';
import { aVersionSpec } from '../edge/testing/fake-model.ts';
import { openArena } from '../transport/open-arena.ts';
import { Dispatcher } from './dispatcher.ts';
import { LoadGate } from './load-gate.ts';
import { PoisonGuard } from './poison-guard.ts';
import { ServedVersion } from './served-version.ts';
import { systemClock } from './system-ports.ts';
import { FakeRunnerPool } from './testing/fake-runner-pool.ts';

const CAPACITY = 64 * 1024;

interface Options {
  readonly clock?: Clock;
  readonly cached?: boolean;
  readonly poison?: PoisonGuard;
}

function aVersion(dispatcher: Dispatcher, key: string, options: Options = {}) {
  const { clock = systemClock, cached = false, poison = new PoisonGuard(systemClock) } = options;
  const decided: DecisionRecord[] = [];
  const pools: FakeRunnerPool[] = [];
  const { arena } = openArena(CAPACITY, 'heap');
  const version = new ServedVersion({
    key,
    spec: { ...aVersionSpec({ model: key }), cached },
    arena,
    dispatcher,
    clock,
    maxQueueMs: 1000,
    stream: DEFAULT_STREAM_LIMITS,
    loadGate: new LoadGate(1),
    onNotice: () => {},
    decisions: { decided: (record) => decided.push(record) },
    answers: new AnswerCache<WorkDone>(),
    poison,
    pressure: { refuses: () => false },
    createPool: ({ spec, events }) => {
      const pool = new FakeRunnerPool(spec, events);
      pools.push(pool);
      return pool;
    },
  });
  version.start();
  return { version, arena, decided, pool: pools[0] as FakeRunnerPool };
}

const context: CallContext = {
  requestId: 'r',
  protocol: 'native',
  receivedAt: systemClock.now(),
  timeoutMs: 60_000,
  criticality: 'default',
  bodyBytes: undefined,
};

function submit(call: Call): { results: WorkResult[] } {
  const block = call.reserve(16);
  const results: WorkResult[] = [];
  const tensors = [{ span: block.span, shape: [1, 4] }];
  const parameters = { topK: 5, threshold: 0 };
  call.submit({ input: { kind: 'tensors', tensors }, rows: 1, want: 'answer', parameters }, (result) =>
    results.push(result),
  );
  return { results };
}

/** Turns of the event loop until the pool has a batch: the engine may linger a few for companions. */
async function started(pool: FakeRunnerPool): Promise<void> {
  for (let turn = 0; turn < 100_000 && pool.jobs.length === 0; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('Dispatcher', () => {
  it('tells runners of different versions apart that have the same id', async () => {
    const dispatcher = new Dispatcher(systemClock);
    const one = aVersion(dispatcher, 'one');
    const other = aVersion(dispatcher, 'other');
    const call = one.version.open(context);
    const { results } = submit(call);
    await started(one.pool);
    expect(one.pool.jobs).toHaveLength(1);
    other.pool.crash();
    one.pool.answer();
    expect(results).toMatchObject([{ ok: true }]);
    dispatcher.close();
  });

  it('keeps what a runner reads until it has ended, when the client leaves in between', async () => {
    const dispatcher = new Dispatcher(systemClock);
    const { version, arena, pool } = aVersion(dispatcher, 'v');
    const call = version.open(context);
    const { results } = submit(call);
    await started(pool);
    call.close();
    expect(arena.used).toBeGreaterThan(0);
    pool.answer();
    expect(arena.used).toBe(0);
    expect(pool.released).toBe(1);
    expect(results).toEqual([]);
    expect(version.openCalls).toBe(0);
    dispatcher.close();
  });

  it('keeps outputs until the last call of their batch is closed', async () => {
    const dispatcher = new Dispatcher(systemClock);
    const { version, pool } = aVersion(dispatcher, 'v');
    const calls = [version.open(context), version.open(context)];
    for (const call of calls) submit(call);
    await started(pool);
    expect(pool.jobs[0]?.parts).toHaveLength(2);
    pool.answer();
    calls[0]?.close();
    expect(pool.released).toBe(0);
    calls[1]?.close();
    expect(pool.released).toBe(1);
    dispatcher.close();
  });

  it('keeps the memory of a crashed batch and runs it again on the next runner', async () => {
    const dispatcher = new Dispatcher(systemClock);
    const { version, arena, pool } = aVersion(dispatcher, 'v');
    const call = version.open(context);
    const { results } = submit(call);
    await started(pool);
    pool.crash();
    expect(results).toEqual([]);
    expect(arena.used).toBeGreaterThan(0);
    pool.ready();
    await started(pool);
    pool.answer();
    expect(results).toMatchObject([{ ok: true }]);
    call.close();
    expect(arena.used).toBe(0);
    dispatcher.close();
  });

  it('frees the memory of a crashed batch whose client has gone, and runs nothing again', async () => {
    const dispatcher = new Dispatcher(systemClock);
    const { version, arena, pool } = aVersion(dispatcher, 'v');
    const call = version.open(context);
    const { results } = submit(call);
    await started(pool);
    call.close();
    expect(arena.used).toBeGreaterThan(0);
    pool.crash();
    expect(arena.used).toBe(0);
    pool.ready();
    const next = version.open(context);
    const second = submit(next);
    await started(pool);
    pool.answer();
    expect(second.results).toMatchObject([{ ok: true }]);
    expect(results).toEqual([]);
    next.close();
    dispatcher.close();
  });

  it('lets the calls inside finish when the version is retired', async () => {
    const dispatcher = new Dispatcher(systemClock);
    const { version, pool } = aVersion(dispatcher, 'v');
    const call = version.open(context);
    const { results } = submit(call);
    await started(pool);
    const retired = version.retire(5_000);
    expect(() => version.open(context)).toThrow(/unloaded/);
    pool.answer();
    call.close();
    await retired;
    expect(results).toMatchObject([{ ok: true }]);
    expect(pool.stopped).toBe(true);
    dispatcher.close();
  });
});
