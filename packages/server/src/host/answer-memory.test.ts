import {
  AnswerCache,
  type Call,
  type CallContext,
  DEFAULT_STREAM_LIMITS,
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

function aCachedVersion(options: { ttlMs?: number } = {}) {
  const pools: FakeRunnerPool[] = [];
  const dispatcher = new Dispatcher(systemClock);
  const { arena } = openArena(64 * 1024, 'heap');
  const poison = new PoisonGuard(systemClock);
  const version = new ServedVersion({
    key: 'v',
    spec: { ...aVersionSpec({ model: 'v' }), cached: true },
    arena,
    dispatcher,
    clock: systemClock,
    maxQueueMs: 1000,
    stream: DEFAULT_STREAM_LIMITS,
    loadGate: new LoadGate(1),
    decisions: { decided: () => {} },
    answers: new AnswerCache<WorkDone>(options),
    poison,
    pressure: { refuses: () => false },
    onNotice: () => {},
    createPool: ({ spec, events }) => {
      const pool = new FakeRunnerPool(spec, events);
      pools.push(pool);
      return pool;
    },
  });
  version.start();
  return { version, arena, poison, dispatcher, pool: pools[0] as FakeRunnerPool };
}

function aContext(timeoutMs = 60_000): CallContext {
  return {
    requestId: 'r',
    protocol: 'native',
    receivedAt: systemClock.now(),
    timeoutMs,
    criticality: 'default',
    bodyBytes: undefined,
  };
}

function ask(call: Call, value: number): WorkResult[] {
  const block = call.reserve(16);
  block.bytes.fill(value);
  const results: WorkResult[] = [];
  const tensors = [{ span: block.span, shape: [1, 4] }];
  const parameters = { topK: 5, threshold: 0 };
  call.submit({ input: { kind: 'tensors', tensors }, rows: 1, want: 'answer', parameters }, (result) =>
    results.push(result),
  );
  return results;
}

async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 10_000 && !condition(); turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(condition()).toBe(true);
}

describe('AnswerMemory', () => {
  it('answers an equal request from memory, after the first call has gone, and another one not', async () => {
    const { version, arena, pool, dispatcher } = aCachedVersion();
    const first = version.open(aContext());
    const computed = ask(first, 1);
    await until(() => pool.jobs.length === 1);
    pool.answer();
    expect(computed).toMatchObject([{ ok: true }]);
    first.close();
    const second = version.open(aContext());
    const kept = ask(second, 1);
    expect(kept, 'never inside submit').toEqual([]);
    await until(() => kept.length === 1);
    expect(kept).toMatchObject([{ ok: true, cached: { kind: 'hit' } }]);
    second.close();
    const other = version.open(aContext());
    ask(other, 2);
    await until(() => pool.jobs.length === 1);
    pool.answer();
    other.close();
    expect(arena.used).toBe(0);
    dispatcher.close();
  });

  it('runs once what is asked at once, and tells everybody', async () => {
    const { version, pool, dispatcher } = aCachedVersion();
    const calls = Array.from({ length: 5 }, () => version.open(aContext()));
    const answers = calls.map((call) => ask(call, 3));
    await until(() => pool.jobs.length === 1);
    pool.answer();
    await until(() => answers.every(({ length }) => length === 1));
    expect(answers.map(([answer]) => answer?.ok && answer.cached?.kind)).toEqual([
      undefined,
      ...Array(4).fill('joined'),
    ]);
    expect(pool.jobs).toHaveLength(0);
    for (const call of calls) call.close();
    dispatcher.close();
  });

  it('lets the next one run it when the first client leaves', async () => {
    const { version, arena, pool, dispatcher } = aCachedVersion();
    const leaver = version.open(aContext());
    ask(leaver, 4);
    const stayer = version.open(aContext());
    const answer = ask(stayer, 4);
    leaver.close();
    await until(() => pool.jobs.length === 1);
    pool.answer();
    await until(() => answer.length === 1);
    expect(answer).toMatchObject([{ ok: true }]);
    stayer.close();
    expect(arena.used).toBe(0);
    dispatcher.close();
  });

  it('ends one that follows at its own deadline', async () => {
    const { version, pool, dispatcher } = aCachedVersion();
    const leader = version.open(aContext());
    ask(leader, 5);
    const hasty = version.open(aContext(30));
    const answer = ask(hasty, 5);
    await new Promise((resolve) => setTimeout(resolve, 60));
    await until(() => answer.length === 1);
    expect(answer).toMatchObject([{ ok: false, error: { code: 'DEADLINE_EXCEEDED' } }]);
    hasty.close();
    pool.answer();
    leader.close();
    dispatcher.close();
  });

  it('gives an answer that is too old rather than the error of a version without runners', async () => {
    const { version, pool, dispatcher } = aCachedVersion({ ttlMs: 0 });
    const first = version.open(aContext());
    ask(first, 6);
    await until(() => pool.jobs.length === 1);
    pool.answer();
    first.close();
    pool.crash();
    const hasty = version.open({ ...aContext(), timeoutMs: 60_000 });
    pool.fault();
    const answer = ask(hasty, 6);
    await until(() => answer.length === 1);
    expect(answer).toMatchObject([{ ok: true, degradedBecause: 'stale-answer', cached: { kind: 'stale' } }]);
    hasty.close();
    dispatcher.close();
  });
});

describe('PoisonGuard', () => {
  it('refuses at once what was found to crash runners, and nothing else', async () => {
    const { version, poison, pool, dispatcher } = aCachedVersion();
    const call = version.open(aContext());
    const answer = ask(call, 7);
    for (let crash = 0; crash < 2; crash += 1) {
      await until(() => pool.jobs.length === 1);
      pool.crash();
      pool.ready();
    }
    await until(() => answer.length === 1);
    expect(answer).toMatchObject([{ ok: false, error: { code: 'POISON_INPUT' } }]);
    call.close();
    const [quarantined] = poison.quarantine.list(systemClock.now());
    expect(quarantined).toMatchObject({ model: 'v', hits: 0 });
    const again = version.open(aContext());
    const refused = ask(again, 7);
    const innocent = ask(again, 8);
    await until(() => refused.length === 1 && pool.jobs.length === 1);
    expect(refused).toMatchObject([{ ok: false, error: { code: 'POISON_INPUT' } }]);
    pool.answer();
    expect(innocent).toMatchObject([{ ok: true }]);
    again.close();
    poison.quarantine.release(quarantined?.fingerprint ?? '');
    const released = version.open(aContext());
    ask(released, 7);
    await until(() => pool.jobs.length === 1);
    pool.answer();
    released.close();
    dispatcher.close();
  });
});
