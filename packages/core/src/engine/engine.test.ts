import { describe, expect, it } from 'vitest';
import { NEVER } from '../base/time.ts';
import { GimbalError } from '../errors/gimbal-error.ts';
import { aHost, codeOf, IMAGES, LOWER, PROFILE, R1, R2, rowsAnswered } from './testing/a-host.ts';
import { SimulatedHost, type SimulatedPayload } from './testing/simulated-host.ts';
import type { Work } from './work.ts';

describe('Engine, deadlines', () => {
  it('refuses what has no time left', () => {
    const host = aHost({ profile: PROFILE });
    expect(codeOf(host, host.submit({ timeoutMs: 0 }))).toBe('DEADLINE_EXCEEDED');
  });

  it('sheds what would not be done in time, and says when to come again', () => {
    const host = aHost({ profile: IMAGES });
    const works = Array.from({ length: 20 }, () => host.submit({ timeoutMs: 50 }));
    const codes = works.map((work) => codeOf(host, work));
    expect(codes.filter((code) => code === 'OVERLOADED').length).toBeGreaterThan(10);
    const last = host.outcomeOf(works[19] as Work<SimulatedPayload>);
    expect(last?.kind === 'failed' && last.error.retryAfterMs).toBeGreaterThanOrEqual(50);
    host.finish();
    expect(works.filter((work) => codeOf(host, work) === 'done').length).toBeGreaterThanOrEqual(4);
    for (const work of works) expect(['done', 'OVERLOADED']).toContain(codeOf(host, work));
  });

  it('counts every bucket as runs of its own when it predicts', () => {
    const profile = { ...PROFILE, fixedMs: 50 };
    const host = aHost({ profile });
    host.submit();
    for (let count = 0; count < 8; count += 1) host.submit({ bucket: `shape ${count}`, timeoutMs: 300 });
    const work = host.submit({ bucket: 'another', timeoutMs: 300 });
    expect(codeOf(host, work)).toBe('OVERLOADED');
  });

  it('does not count less critical works as before a critical one', () => {
    const host = aHost({ profile: IMAGES });
    for (let count = 0; count < 20; count += 1) host.submit({ timeoutMs: 40 });
    expect(codeOf(host, host.submit({ timeoutMs: 40 }))).toBe('OVERLOADED');
    const critical = host.submit({ timeoutMs: 40, lane: 'critical' });
    host.finish();
    expect(codeOf(host, critical)).toBe('done');
  });

  it('always takes a work that can start at once, so that a wrong cost model learns', () => {
    const host = aHost({ profile: { ...PROFILE, fixedMs: 10_000 } });
    host.engine.admit('v', { rows: 1, deadline: 100 }, 0);
    host.submit({ timeoutMs: 100 });
    host.advance(1);
    expect(host.batches).toHaveLength(1);
  });

  it('refuses at once what can not be done in time, but for one in a while', () => {
    const host = aHost({ profile: { ...PROFILE, fixedMs: 400 } });
    host.submit({ timeoutMs: 100 });
    host.advance(1);
    host.finish();
    const refused = host.submit({ timeoutMs: 100 });
    expect(codeOf(host, refused)).toBe('DEADLINE_EXCEEDED');
    host.advance(2000);
    const tried = host.submit({ timeoutMs: 100 });
    expect(codeOf(host, tried)).not.toBe('DEADLINE_EXCEEDED');
  });

  it('never gives an answer that came after its deadline', () => {
    const host = aHost({ profile: PROFILE });
    const late = host.submit({ timeoutMs: 40 });
    host.advance(0);
    host.stall(R1, 60);
    host.finish();
    expect(codeOf(host, late)).toBe('DEADLINE_EXCEEDED');
  });

  it('never runs what has less time than one batch while others wait', () => {
    const host = aHost({ profile: PROFILE });
    host.submit();
    host.advance(0.1);
    const late = host.submit({ timeoutMs: 15 });
    host.stall(R1, 8);
    host.submit();
    host.finish();
    expect(codeOf(host, late)).toBe('DEADLINE_EXCEEDED');
    expect(host.batches.flatMap(({ parts }) => parts).some(({ work }) => work === late)).toBe(false);
  });

  it('ends works at their deadline, waiting or running, and ignores what comes of them later', () => {
    const host = aHost({ profile: PROFILE });
    const running = host.submit({ timeoutMs: 40 });
    host.advance(0.1);
    const waiting = host.submit({ timeoutMs: 30 });
    host.stall(R1, 100);
    host.finish();
    expect(codeOf(host, running)).toBe('DEADLINE_EXCEEDED');
    expect(codeOf(host, waiting)).toBe('DEADLINE_EXCEEDED');
    expect(host.settledAt.get(running.payload.identity)).toBeCloseTo(40);
    expect(host.settledAt.get(waiting.payload.identity)).toBeCloseTo(30.1);
  });

  it('asks to be called at the next deadline, and not at all when nothing is open', () => {
    const host = aHost({ profile: PROFILE });
    const { engine } = host;
    expect(engine.poll(0)).toBe(NEVER);
    host.submit({ timeoutMs: 40 });
    expect(engine.poll(0)).toBe(40);
    host.submit({ timeoutMs: 30 });
    expect(engine.poll(0)).toBe(30);
  });

  it('asks to be called every minute while a deadline is far away', () => {
    const host = aHost({ profile: PROFILE });
    host.submit({ timeoutMs: 1e12 });
    expect(host.engine.poll(0)).toBe(60_000);
  });
});

describe('Engine, runners', () => {
  it('says that a model is loading until a runner has been ready', () => {
    const host = aHost();
    expect(codeOf(host, host.submit())).toBe('MODEL_LOADING');
    expect(() => host.engine.admit('v', { rows: 1, deadline: 100 }, 0)).toThrow(/loaded/);
    host.runnerReady(R1, PROFILE);
    const work = host.submit();
    host.finish();
    expect(codeOf(host, work)).toBe('done');
  });

  it('keeps what a lost runner had, and what waited, for the next runner', () => {
    const host = aHost({ profile: PROFILE });
    const running = host.submit();
    host.advance(0.1);
    const waiting = host.submit();
    host.runnerLost(R1);
    const later = host.submit();
    host.advance(1000);
    expect([codeOf(host, running), codeOf(host, waiting)]).toEqual([undefined, undefined]);
    host.runnerReady(R2, PROFILE);
    host.finish();
    expect([running, waiting, later].map((work) => codeOf(host, work))).toEqual(['done', 'done', 'done']);
  });

  it('bounds what waits for a runner to come back', () => {
    const host = aHost({ profile: IMAGES });
    host.runnerLost(R1);
    const works = Array.from({ length: 100 }, () => host.submit({ timeoutMs: 100 }));
    const taken = works.filter((work) => codeOf(host, work) === undefined);
    expect(taken.length).toBeGreaterThan(5);
    expect(taken.length).toBeLessThan(15);
  });

  it('ignores a report of a runner that was lost meanwhile', () => {
    const host = aHost({ profile: PROFILE });
    const work = host.submit();
    host.advance(0.1);
    const id = host.batches[0]?.id ?? 0;
    host.runnerLost(R1);
    const report = { parts: [], preprocessMs: 0, inferMs: 0, postprocessMs: 0, release: () => {} };
    host.engine.batchReported(R1, id, report, host.now);
    expect(codeOf(host, work)).toBeUndefined();
    host.runnerReady(R2, PROFILE);
    host.finish();
    expect(codeOf(host, work)).toBe('done');
  });

  it('gives a retiring runner nothing more and lets it finish', () => {
    const host = aHost({ profile: PROFILE });
    const first = host.submit();
    host.advance(0.1);
    host.runnerReady(R2, PROFILE);
    host.runnerRetiring(R1);
    const second = host.submit();
    host.finish();
    expect([codeOf(host, first), codeOf(host, second)]).toEqual(['done', 'done']);
    expect(host.batches.map(({ runner }) => runner)).toEqual(['r1', 'r2']);
  });

  it('moves waiting works to the next rung that serves', () => {
    const host = aHost({ profile: PROFILE, rungs: 2 });
    host.runnerReady(LOWER, PROFILE);
    host.submit();
    host.advance(0.1);
    const waiting = host.submit();
    host.runnerLost(R1);
    host.finish();
    expect(host.outcomeOf(waiting)).toMatchObject({ kind: 'done', rung: 1 });
    host.runnerReady(R1, PROFILE);
    const next = host.submit();
    host.finish();
    expect(host.outcomeOf(next)).toMatchObject({ kind: 'done', rung: 0 });
  });

  it('never answers one work from two variants', () => {
    const host = aHost({ profile: PROFILE, rungs: 2 });
    host.runnerReady(LOWER, PROFILE);
    const large = host.submit({ rows: 20, splittable: true, timeoutMs: 100 });
    host.advance(11);
    host.runnerRetiring(R1);
    host.finish();
    expect(codeOf(host, large)).toBe('DEADLINE_EXCEEDED');
    expect(host.batches.map(({ rung }) => rung)).toEqual([0, 0]);
  });

  it('fails what waits for a variant at fault, with its reason, until it works again', () => {
    const host = aHost({ profile: PROFILE });
    host.runnerLost(R1);
    const waiting = host.submit();
    host.faulted(R1, new GimbalError('MODEL_UNAVAILABLE', 'Cannot run the model: it crashes in a loop'));
    expect(host.outcomeOf(waiting)).toMatchObject({
      kind: 'failed',
      error: { code: 'MODEL_UNAVAILABLE', message: 'Cannot run the model: it crashes in a loop' },
    });
    expect(codeOf(host, host.submit())).toBe('MODEL_UNAVAILABLE');
    host.runnerReady(R2, PROFILE);
    const work = host.submit();
    host.finish();
    expect(codeOf(host, work)).toBe('done');
  });

  it('does not let a failed part touch its neighbours', () => {
    const host = aHost({ profile: PROFILE });
    const works = Array.from({ length: 3 }, () => host.submit());
    host.onPart = ({ work }) =>
      work === works[1] ? { ok: false, code: 'INVALID_INPUT', message: 'no', fields: [] } : undefined;
    host.finish();
    expect(works.map((work) => rowsAnswered(host.outcomeOf(work)))).toEqual([[0], [], [0]]);
    expect(host.batches).toHaveLength(1);
  });

  it('runs no more rows of a work once a part of it has failed', () => {
    const host = aHost({ profile: PROFILE });
    host.onPart = () => ({ ok: false, code: 'MODEL_FAULT', message: 'no', fields: [] });
    const work = host.submit({ rows: 800, splittable: true });
    host.finish();
    expect(codeOf(host, work)).toBe('MODEL_FAULT');
    expect(host.batches).toHaveLength(1);
  });

  it('fails a work of which the runner says nothing', () => {
    const host = aHost({ profile: PROFILE });
    const work = host.submit();
    host.advance(0.1);
    const report = { parts: [], preprocessMs: 0, inferMs: 0, postprocessMs: 0, release: () => {} };
    host.engine.batchReported(R1, host.batches[0]?.id ?? 0, report, host.now);
    expect(host.outcomeOf(work)).toMatchObject({ kind: 'done', reports: [{ report: { ok: false } }] });
  });
});

describe('Engine, cancelling and unloading', () => {
  it('lets a cancelled work leave the queue at once', () => {
    const host = aHost({ profile: PROFILE });
    host.submit();
    host.advance(0.1);
    const work = host.submit({ bytes: 10 });
    host.cancel(work);
    expect(codeOf(host, work)).toBe('cancelled');
    expect(host.engine.pools('v')[0]?.view(host.now)).toMatchObject({ queuedRows: 0, queuedBytes: 0 });
    host.cancel(work);
    host.finish();
    expect(host.batches).toHaveLength(1);
  });

  it('ignores what comes back of a cancelled work, and answers its neighbours', () => {
    const host = aHost({ profile: PROFILE });
    const [gone, stays] = [host.submit(), host.submit()];
    host.advance(0.1);
    host.cancel(gone);
    host.finish();
    expect(codeOf(host, gone)).toBe('cancelled');
    expect(rowsAnswered(host.outcomeOf(stays))).toEqual([0]);
  });

  it('lets works inside a removed version finish, takes no new ones, and says when it is drained', () => {
    const host = aHost({ profile: PROFILE });
    const first = host.submit();
    host.advance(0.1);
    const second = host.submit();
    host.engine.removeVersion('v', host.now);
    expect(codeOf(host, host.submit())).toBe('MODEL_UNAVAILABLE');
    expect(host.drainedVersions).toEqual([]);
    host.finish();
    expect([codeOf(host, first), codeOf(host, second)]).toEqual(['done', 'done']);
    expect(host.drainedVersions).toEqual(['v']);
  });

  it('is drained only when its runners have nothing of it any more, expired works included', () => {
    const host = aHost({ profile: PROFILE });
    host.submit({ rows: 0, timeoutMs: 5 });
    host.advance(0.1);
    host.stall(R1, 100);
    host.engine.removeVersion('v', host.now);
    host.advance(50);
    expect(host.outcomes.size).toBe(1);
    expect(host.drainedVersions).toEqual([]);
    host.advance(100);
    expect(host.drainedVersions).toEqual(['v']);
  });

  it('is drained also when works that waited are dropped as late', () => {
    const host = aHost({ profile: PROFILE });
    host.submit({ timeoutMs: 100 });
    host.advance(0.1);
    const late = [host.submit({ timeoutMs: 20 }), host.submit({ timeoutMs: 20 })];
    host.stall(R1, 15);
    host.engine.removeVersion('v', host.now);
    host.finish();
    expect(late.map((work) => codeOf(host, work))).toContain('DEADLINE_EXCEEDED');
    expect(host.drainedVersions).toEqual(['v']);
  });

  it('fails what waits when the last runner of a removed version retires', () => {
    const host = aHost({ profile: PROFILE });
    const running = host.submit();
    host.advance(0.1);
    const waiting = host.submit();
    host.engine.removeVersion('v', host.now);
    host.runnerRetiring(R1);
    expect(codeOf(host, waiting)).toBe('MODEL_UNAVAILABLE');
    host.finish();
    expect(codeOf(host, running)).toBe('done');
    expect(host.drainedVersions).toEqual(['v']);
  });

  it('keeps versions apart', () => {
    const host = aHost({ profile: PROFILE });
    host.engine.addVersion({ version: 'w', pools: [{ maxRows: 'auto', maxDelayMs: 5, preferredSizes: [] }] });
    host.runnerReady({ version: 'w', rung: 0, runnerId: 'r1' }, PROFILE);
    const [one, other] = [host.submit(), host.submit({ version: 'w', repeatable: false })];
    host.advance(0.1);
    host.runnerLost({ version: 'w', rung: 0, runnerId: 'r1' });
    host.finish(100);
    expect([codeOf(host, one), codeOf(host, other)]).toEqual(['done', 'RUNNER_CRASHED']);
    expect(codeOf(host, host.submit({ version: 'unknown' }))).toBe('MODEL_UNAVAILABLE');
  });

  it('tells metrics what waits and what runs', () => {
    const host = aHost({ profile: IMAGES });
    host.submit();
    host.advance(1);
    host.submit({ bytes: 7 });
    host.submit({ lane: 'critical' });
    host.advance(1);
    const view = host.engine.pools('v')[0]?.view(host.now);
    expect(view).toMatchObject({
      queuedRows: 2,
      queuedBytes: 7,
      runningRows: 1,
      runningBatches: 1,
      serving: 1,
    });
    expect(view?.lanes.map(({ lane, works, oldestAgeMs }) => [lane, works, oldestAgeMs])).toEqual([
      ['critical', 1, 1],
      ['default', 1, 1],
      ['sheddable', 0, 0],
    ]);
    const waits = view?.lanes.map(({ predictedWaitMs }) => Math.round(predictedWaitMs));
    expect(waits).toEqual([13, 21, 21]);
  });

  it('bounds the memory that works hold until they end', () => {
    const host = new SimulatedHost();
    host.engine.addVersion({
      version: 'v',
      maxQueuedBytes: 100,
      pools: [{ maxRows: 'auto', maxDelayMs: 5, preferredSizes: [] }],
    });
    host.runnerReady(R1, PROFILE);
    const large = host.submit({ bytes: 1000 });
    host.advance(0.1);
    expect(codeOf(host, host.submit({ bytes: 1 }))).toBe('OVERLOADED');
    host.finish();
    expect(codeOf(host, large)).toBe('done');
    const codes = [60, 60, 40].map((bytes) => codeOf(host, host.submit({ bytes })));
    expect(codes).toEqual([undefined, 'OVERLOADED', undefined]);
  });
});
