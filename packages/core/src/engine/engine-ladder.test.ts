import { describe, expect, it } from 'vitest';
import { NEVER } from '../base/time.ts';
import type { CostProfile } from '../contract/model.ts';
import { GimbalError } from '../errors/gimbal-error.ts';
import { codeOf } from './testing/a-host.ts';
import { SimulatedHost } from './testing/simulated-host.ts';

/** The ladder of the image example, on one core. */
const RUNGS: readonly CostProfile[] = [17.2, 8, 4.2].map((perRowMs) => ({
  fixedMs: 0.1,
  perRowMs,
  points: [],
  bestRows: 1,
}));

function aLadder(): SimulatedHost {
  const host = new SimulatedHost();
  const pool = { maxRows: 'auto' as const, maxDelayMs: 5, preferredSizes: [] };
  host.engine.addVersion({ version: 'v', maxRunning: 1, pools: RUNGS.map(() => pool) });
  for (const [rung, profile] of RUNGS.entries()) {
    host.runnerReady({ version: 'v', rung, runnerId: 'r' }, profile);
  }
  return host;
}

interface Tally {
  asked: number;
  good: number;
  readonly rungs: number[];
}

/** Open loop, evenly spaced. */
function load(
  host: SimulatedHost,
  seconds: number,
  options: { perSecond: number; critical?: number },
): Tally {
  const tally: Tally = { asked: 0, good: 0, rungs: [0, 0, 0] };
  host.onSettled = (_work, outcome) => {
    if (outcome.kind !== 'done') return;
    tally.good += 1;
    tally.rungs[outcome.rung] = (tally.rungs[outcome.rung] ?? 0) + 1;
  };
  const { perSecond, critical = 0 } = options;
  for (const until = host.now + seconds * 1000; host.now < until; ) {
    tally.asked += 1;
    const lane = critical > 0 && tally.asked % critical === 0 ? 'critical' : 'default';
    host.submit({ timeoutMs: 500, lane });
    host.advance(1000 / perSecond);
  }
  host.finish(1000);
  return tally;
}

describe('Engine, degradation ladder', () => {
  it('answers everything on the best rung below its capacity', () => {
    const host = aLadder();
    const { asked, good, rungs } = load(host, 10, { perSecond: 40 });
    expect(good).toBe(asked);
    expect(rungs).toEqual([asked, 0, 0]);
  });

  it('answers at least 99 % in time at three times the best rung, each labelled', () => {
    const host = aLadder();
    const { asked, good, rungs } = load(host, 20, { perSecond: 174 });
    expect(good / asked).toBeGreaterThan(0.99);
    expect((rungs[1] ?? 0) + (rungs[2] ?? 0)).toBeGreaterThan(asked * 0.9);
    for (const outcome of host.outcomes.values()) {
      if (outcome.kind === 'done')
        expect(outcome.degradedBecause).toBe(outcome.rung > 0 ? 'overload' : undefined);
    }
    const changes = host.engine.ladder('v', host.now)?.controller.view().history ?? [];
    expect(changes.length).toBeLessThanOrEqual(2);
  });

  it('answers more with the ladder than without', () => {
    const alone = new SimulatedHost();
    const pool = { maxRows: 'auto' as const, maxDelayMs: 5, preferredSizes: [] };
    alone.engine.addVersion({ version: 'v', maxRunning: 1, pools: [pool] });
    alone.runnerReady({ version: 'v', rung: 0, runnerId: 'r' }, RUNGS[0] as CostProfile);
    const without = load(alone, 10, { perSecond: 400 });
    const withLadder = load(aLadder(), 10, { perSecond: 400 });
    expect(withLadder.good).toBeGreaterThan(without.good * 3);
  });

  it('keeps critical works on the best rung under overload', () => {
    const host = aLadder();
    load(host, 3, { perSecond: 150, critical: 10 });
    let degraded = 0;
    host.onSettled = (work, outcome) => {
      if (work.lane === 'critical' && outcome.kind === 'done' && outcome.rung > 0) degraded += 1;
    };
    const works = Array.from({ length: 100 }, (_, index) => {
      const work = host.submit({ timeoutMs: 500, lane: 'critical', quality: 'best-first' });
      for (let other = 0; other < 5; other += 1) host.submit({ timeoutMs: 500 });
      host.advance(index % 2 === 0 ? 45 : 40);
      return work;
    });
    host.finish(1000);
    expect(works.map((work) => codeOf(host, work)).filter((code) => code !== 'done')).toEqual([]);
    expect(degraded).toBe(0);
  });

  it('is back on the best rung within 30 s of calm', () => {
    const host = aLadder();
    load(host, 20, { perSecond: 230 });
    load(host, 30, { perSecond: 20 });
    const { rungs } = load(host, 3, { perSecond: 20 });
    expect(rungs).toEqual([60, 0, 0]);
  });

  it('moves to the next rung when the best has no runner, says why, and refuses who refuses that', () => {
    const host = aLadder();
    host.runnerLost({ version: 'v', rung: 0, runnerId: 'r' });
    host.faulted({ version: 'v', rung: 0 }, new GimbalError('MODEL_UNAVAILABLE', 'Cannot run: it crashes'));
    host.advance(300);
    const any = host.submit();
    const strict = host.submit({ quality: 'best-only' });
    expect(codeOf(host, strict)).toBe('MODEL_UNAVAILABLE');
    host.finish();
    expect(host.outcomeOf(any)).toMatchObject({ kind: 'done', rung: 1, degradedBecause: 'unavailable' });
  });

  it('serves the rung that an operator pins', () => {
    const host = aLadder();
    host.engine.ladder('v', 0)?.controller.pin(2, NEVER, 0);
    const work = host.submit();
    host.finish();
    expect(host.outcomeOf(work)).toMatchObject({ kind: 'done', rung: 2, degradedBecause: 'pinned' });
  });

  it('runs again on the next rung what failed for the device, and opens the breaker of the rung', () => {
    const host = aLadder();
    host.onPart = () =>
      host.batches.at(-1)?.rung === 0
        ? { ok: false, code: 'DEVICE_FAULT', message: 'Cannot run the model: its device failed', fields: [] }
        : undefined;
    const works = Array.from({ length: 20 }, () => {
      const work = host.submit({ timeoutMs: 500 });
      host.advance(30);
      return work;
    });
    host.finish();
    expect(works.map((work) => codeOf(host, work)).filter((code) => code !== 'done')).toEqual([]);
    expect(host.engine.ladder('v', host.now)?.breakerState(0)).toBe('open');
    expect(host.batches.filter(({ rung }) => rung === 0)).toHaveLength(5);
    expect(host.outcomeOf(works.at(-1) as (typeof works)[number])).toMatchObject({
      degradedBecause: 'breaker',
    });
  });

  it('closes the breaker after golden inputs of its own, never by a user', () => {
    const host = aLadder();
    let broken = true;
    host.onPart = () =>
      broken && host.batches.at(-1)?.rung === 0
        ? { ok: false, code: 'DEVICE_FAULT', message: 'Cannot run the model: its device failed', fields: [] }
        : undefined;
    for (let count = 0; count < 6; count += 1) {
      host.submit({ timeoutMs: 500 });
      host.advance(30);
    }
    const before = host.batches.length;
    const users = new Set(host.works.keys());
    host.advance(3000);
    expect(host.probes).toBeGreaterThan(0);
    expect(
      host.batches
        .slice(before)
        .every(({ parts }) => parts.every(({ work }) => !users.has(work.payload.identity))),
    ).toBe(true);
    broken = false;
    for (let second = 0; second < 20; second += 1) {
      host.submit({ timeoutMs: 500 });
      host.advance(1000);
    }
    expect(host.engine.ladder('v', host.now)?.breakerState(0)).toBe('closed');
  });
});
