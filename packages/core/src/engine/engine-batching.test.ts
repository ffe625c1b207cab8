import { describe, expect, it } from 'vitest';
import { aHost, codeOf, DIGITS, IMAGES, PROFILE, R1, R2, rowsAnswered } from './testing/a-host.ts';
import type { SimulatedHost } from './testing/simulated-host.ts';

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
