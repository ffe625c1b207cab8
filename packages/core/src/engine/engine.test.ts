import { describe, expect, it } from 'vitest';
import { NEVER } from '../base/time.ts';
import type { CostProfile } from '../contract/model.ts';
import { GimbalError } from '../errors/gimbal-error.ts';
import type { RunnerPlace, WorkOutcome } from './engine.ts';
import type { PoolOptions } from './pool.ts';
import { rowsOf, SimulatedHost, type SimulatedPayload } from './testing/simulated-host.ts';
import type { Work } from './work.ts';

/** Batching pays: 8 rows take 10 ms, one takes 3 ms. */
const PROFILE: CostProfile = { fixedMs: 2, perRowMs: 1, points: [], bestRows: 8 };
/** As measured on one CPU thread, in ms. */
const DIGITS: CostProfile = { fixedMs: 0.0245, perRowMs: 0.0036, points: [], bestRows: 8 };
/** Batching does not pay. */
const IMAGES: CostProfile = { fixedMs: 0.1, perRowMs: 7.4, points: [], bestRows: 1 };

const R1: RunnerPlace = { version: 'v', rung: 0, runnerId: 'r1' };
const R2: RunnerPlace = { version: 'v', rung: 0, runnerId: 'r2' };
const LOWER: RunnerPlace = { version: 'v', rung: 1, runnerId: 'r1' };

type VersionPool = Partial<Omit<PoolOptions, 'version' | 'rung'>>;

function aHost(options: { profile?: CostProfile; rungs?: number; pool?: VersionPool } = {}): SimulatedHost {
  const host = new SimulatedHost();
  const pool = { maxRows: 'auto' as const, maxDelayMs: 5, preferredSizes: [], ...options.pool };
  host.engine.addVersion({ version: 'v', pools: Array.from({ length: options.rungs ?? 1 }, () => pool) });
  if (options.profile) host.runnerReady(R1, options.profile);
  return host;
}

function codeOf(host: SimulatedHost, work: Work<SimulatedPayload>): string | undefined {
  const outcome = host.outcomeOf(work);
  return outcome?.kind === 'failed' ? outcome.error.code : outcome?.kind;
}

function rowsAnswered(outcome: WorkOutcome | undefined): number[] {
  return outcome?.kind === 'done'
    ? outcome.reports.flatMap(({ report }) => rowsOf(report)).map(({ row }) => row)
    : [];
}

/** So many clients, each of whom sends its next request when it has its answer. */
function closedLoop(host: SimulatedHost, clients: number, requests: number): number[] {
  const latencies: number[] = [];
  host.onSettled = (work) => {
    latencies.push(host.now - work.enqueuedAt);
    if (host.works.size < requests) host.submit();
  };
  for (let client = 0; client < clients; client += 1) host.submit();
  host.finish();
  return latencies;
}

describe('Engine, batching', () => {
  it('runs together what arrived in one turn', () => {
    const host = aHost({ profile: PROFILE });
    for (let count = 0; count < 5; count += 1) host.submit();
    host.finish();
    expect(host.batches.map(({ rows }) => rows)).toEqual([5]);
  });

  it('gathers rows while the runner is busy', () => {
    const host = aHost({ profile: PROFILE });
    host.submit();
    host.advance(0.5);
    for (let count = 0; count < 11; count += 1) host.submit();
    host.finish();
    expect(host.batches.map(({ rows }) => rows)).toEqual([1, 8, 3]);
  });

  it('runs each row alone, at once, where batching does not pay', () => {
    const host = aHost({ profile: IMAGES, pool: { maxRows: 16 } });
    for (let count = 0; count < 3; count += 1) host.submit();
    host.finish();
    expect(host.batches.map(({ rows, startedAt }) => [rows, startedAt])).toEqual([
      [1, 0],
      [1, 7.5],
      [1, 15],
    ]);
  });

  it.each([
    ['digits', DIGITS],
    ['a slow model', { ...PROFILE, fixedMs: 20 }],
  ])('never lets a lone client wait for companions (%s)', (_name, profile) => {
    const host = aHost({ profile });
    const latencies = closedLoop(host, 1, 200);
    const runMs = profile.fixedMs + profile.perRowMs;
    expect(latencies).toHaveLength(200);
    expect(Math.max(...latencies)).toBeLessThan(runMs + 1e-6);
  });

  it('fills its batches under a closed loop of many clients', () => {
    const host = aHost({ profile: DIGITS });
    closedLoop(host, 16, 2000);
    const mean = host.works.size / host.batches.length;
    expect(mean).toBeGreaterThan(6);
  });

  it('lingers for companions that come soon, and no longer than a run costs', () => {
    const profile = { ...PROFILE, fixedMs: 20 };
    const host = aHost({ profile, pool: { maxDelayMs: 50 } });
    for (let count = 0; count < 40; count += 1) {
      host.submit();
      host.advance(1);
    }
    host.advance(500);
    const before = host.batches.length;
    const work = host.submit();
    host.advance(500);
    expect(host.batches).toHaveLength(before + 1);
    const { startedAt } = host.batches[before] as { startedAt: number };
    expect(startedAt - work.enqueuedAt).toBeLessThanOrEqual(20.1);
  });

  it('lingers without going round and round for long', () => {
    const profile = { ...PROFILE, fixedMs: 20 };
    const host = aHost({ profile, pool: { maxDelayMs: 50 } });
    for (let count = 0; count < 100; count += 1) {
      host.submit();
      host.advance(0.5);
    }
    host.finish();
    const before = host.polls;
    host.submit();
    host.submit();
    host.advance(15);
    expect(host.polls - before).toBeLessThan(60);
  });

  it('splits what is larger than a batch and answers in row order', () => {
    const host = aHost({ profile: PROFILE });
    host.runnerReady(R2, PROFILE);
    const large = host.submit({ rows: 20, splittable: true });
    const small = host.submit();
    host.advance(0);
    // The first part takes longest: its answer comes last.
    host.stall(R1, 30);
    host.finish();
    expect(rowsAnswered(host.outcomeOf(large))).toEqual(Array.from({ length: 20 }, (_, row) => row));
    expect(rowsAnswered(host.outcomeOf(small))).toEqual([0]);
    expect(host.batches.map(({ rows }) => rows)).toEqual([8, 8, 5]);
  });

  it('runs whole, alone, what is larger than a batch and may not be split', () => {
    const host = aHost({ profile: PROFILE });
    host.submit();
    host.submit({ rows: 12 });
    host.submit();
    host.finish();
    expect(host.batches.map(({ parts }) => parts.map(({ rows }) => rows))).toEqual([[1], [12], [1]]);
  });

  it('runs works without rows', () => {
    const host = aHost({ profile: PROFILE });
    const works = Array.from({ length: 20 }, () => host.submit({ rows: 0 }));
    host.submit({ rows: 3 });
    host.finish();
    expect(works.map((work) => codeOf(host, work))).toEqual(works.map(() => 'done'));
    for (const { parts } of host.batches) expect(parts.length).toBeLessThanOrEqual(8);
  });

  it.each([
    [4, PROFILE, 4],
    [32, { ...PROFILE, points: [1, 8].map((rows) => ({ rows, medianMs: 1 })) }, 32],
    [32, { ...PROFILE, points: [1, 8, 16].map((rows) => ({ rows, medianMs: 1 })) }, 8],
    ['auto', PROFILE, 8],
  ] as const)(
    'takes at most the declared rows that pay by the profile (%s, %#)',
    (maxRows, profile, rows) => {
      const host = aHost({ profile, pool: { maxRows } });
      expect(host.engine.pools('v')[0]?.maxRows).toBe(rows);
    },
  );

  it('gives work to the runner that had least', () => {
    const host = aHost({ profile: PROFILE });
    host.runnerReady(R2, PROFILE);
    for (let count = 0; count < 6; count += 1) {
      host.submit();
      host.advance(20);
    }
    expect(host.batches.map(({ runner }) => runner)).toEqual(['r1', 'r2', 'r1', 'r2', 'r1', 'r2']);
  });

  it('sends only full batches ahead to a busy runner that may have more', () => {
    const host = aHost({ profile: PROFILE, pool: { batchesPerRunner: 2 } });
    host.submit();
    host.advance(0.1);
    for (let count = 0; count < 7; count += 1) host.submit();
    host.advance(0.1);
    expect(host.batches.map(({ rows }) => rows)).toEqual([1]);
    host.submit();
    host.advance(0.1);
    expect(host.batches.map(({ rows }) => rows)).toEqual([1, 8]);
    host.submit();
    host.finish();
    expect(host.batches.map(({ rows }) => rows)).toEqual([1, 8, 1]);
  });
});

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
    for (let count = 0; count < 8; count += 1) host.submit({ bucket: `shape ${count}` });
    const work = host.submit({ bucket: 'another', timeoutMs: 300 });
    expect(codeOf(host, work)).toBe('OVERLOADED');
  });

  it('does not count less critical works as before a critical one', () => {
    const host = aHost({ profile: IMAGES });
    for (let count = 0; count < 20; count += 1) host.submit();
    expect(codeOf(host, host.submit({ timeoutMs: 40 }))).toBe('OVERLOADED');
    const critical = host.submit({ timeoutMs: 40, lane: 'critical' });
    host.finish();
    expect(codeOf(host, critical)).toBe('done');
  });

  it('always takes a work that can start at once, so that a wrong cost model learns', () => {
    const host = aHost({ profile: { ...PROFILE, fixedMs: 10_000 } });
    host.engine.admit('v', 1, { deadline: 100, now: 0 });
    host.submit({ timeoutMs: 100 });
    host.advance(1);
    expect(host.batches).toHaveLength(1);
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
    expect(() => host.engine.admit('v', 1, { deadline: 100, now: 0 })).toThrow(/loaded/);
    host.runnerReady(R1, PROFILE);
    const work = host.submit();
    host.finish();
    expect(codeOf(host, work)).toBe('done');
  });

  it('fails what a lost runner had, and keeps the rest for the next runner', () => {
    const host = aHost({ profile: PROFILE });
    const running = host.submit();
    host.advance(0.1);
    const waiting = host.submit();
    host.runnerLost(R1);
    const later = host.submit();
    host.advance(1000);
    expect(codeOf(host, running)).toBe('RUNNER_CRASHED');
    expect(codeOf(host, waiting)).toBeUndefined();
    host.runnerReady(R2, PROFILE);
    host.finish();
    expect([codeOf(host, waiting), codeOf(host, later)]).toEqual(['done', 'done']);
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
    expect(codeOf(host, work)).toBe('RUNNER_CRASHED');
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
    const [one, other] = [host.submit(), host.submit({ version: 'w' })];
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

  it('bounds the memory of waiting works', () => {
    const host = new SimulatedHost();
    host.engine.addVersion({
      version: 'v',
      maxQueuedBytes: 100,
      pools: [{ maxRows: 'auto', maxDelayMs: 5, preferredSizes: [] }],
    });
    host.runnerReady(R1, PROFILE);
    host.submit({ bytes: 1000 });
    host.advance(0.1);
    const codes = [60, 60, 40].map((bytes) => codeOf(host, host.submit({ bytes })));
    expect(codes).toEqual([undefined, 'OVERLOADED', undefined]);
  });
});
