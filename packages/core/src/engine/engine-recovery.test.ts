import { describe, expect, it } from 'vitest';
import { GimbalError } from '../errors/gimbal-error.ts';
import type { RunnerLoss } from './engine-driver.ts';
import { aHost, codeOf, DIGITS, PROFILE, R1, R2 } from './testing/a-host.ts';
import type { SimulatedHost } from './testing/simulated-host.ts';

const KILLED: RunnerLoss = { error: new GimbalError('RUNNER_CRASHED', 'Cannot answer'), cause: 'killed' };

/** The runner that has the poison dies of it; a new one is there 10 ms later. Returns how many died. */
function survive(host: SimulatedHost, poison: number, forMs = 1000): number {
  let lost = 0;
  let runner = 0;
  let place = R1;
  for (const until = host.now + forMs; host.now < until; ) {
    host.advance(0.5);
    const batch = host.batches.at(-1);
    const deadly = batch?.parts.some(({ work }) => work.payload.identity === poison);
    if (host.runningOn(place) === 0 || !deadly || batch?.runner !== place.runnerId) continue;
    host.runnerLost(place);
    lost += 1;
    runner += 1;
    place = { ...R1, runnerId: `again ${runner}` };
    host.advance(10);
    host.runnerReady(place, PROFILE);
  }
  return lost;
}

describe('Engine, runs that came to nothing', () => {
  it('answers the neighbours of a poison input, and only it fails, at the cost of two runners', () => {
    const host = aHost({ profile: PROFILE });
    host.submit();
    host.advance(0.1);
    const works = Array.from({ length: 8 }, () => host.submit());
    const poison = works[4];
    const lost = survive(host, poison?.payload.identity ?? 0);
    expect(works.map((work) => codeOf(host, work))).toEqual([
      ...Array(4).fill('done'),
      'POISON_INPUT',
      ...Array(3).fill('done'),
    ]);
    expect(lost).toBe(2);
  });

  it('runs a whole batch again in company after a first SIGKILL from outside', () => {
    const host = aHost({ profile: PROFILE });
    host.runnerReady(R2, PROFILE);
    const works = Array.from({ length: 8 }, () => host.submit());
    host.advance(0.1);
    const batch = host.batches.at(-1);
    expect(batch?.parts).toHaveLength(8);
    host.runnerLost({ ...R1, runnerId: batch?.runner ?? '' }, KILLED);
    host.finish();
    expect(works.map((work) => codeOf(host, work))).toEqual(Array(8).fill('done'));
    expect(host.batches.at(-1)?.parts).toHaveLength(8);
  });

  it('ends a work that is not repeatable with the error of the runner', () => {
    const host = aHost({ profile: PROFILE });
    host.runnerReady(R2, PROFILE);
    const works = [host.submit({ repeatable: false }), host.submit()];
    host.advance(3);
    host.runnerLost({ ...R1, runnerId: host.batches[0]?.runner ?? '' });
    host.finish();
    expect(works.map((work) => codeOf(host, work))).toEqual(['RUNNER_CRASHED', 'done']);
  });

  it('does not run again what has no time left', () => {
    const host = aHost({ profile: PROFILE });
    const work = host.submit({ timeoutMs: 5 });
    host.advance(0.1);
    host.runnerLost(R1);
    host.advance(6);
    host.runnerReady(R2, PROFILE);
    host.finish();
    expect(codeOf(host, work)).toBe('DEADLINE_EXCEEDED');
    expect(host.batches).toHaveLength(1);
  });

  it('runs only the lost rows of a split work again', () => {
    const host = aHost({ profile: PROFILE });
    host.runnerReady(R2, PROFILE);
    const work = host.submit({ rows: 16, splittable: true });
    host.advance(0.1);
    expect(host.batches.map(({ rows }) => rows)).toEqual([8, 8]);
    host.advance(0.1);
    host.runnerLost(R1, KILLED);
    host.finish();
    expect(codeOf(host, work)).toBe('done');
    expect(host.batches.map(({ rows }) => rows)).toEqual([8, 8, 8]);
  });

  it('halves the batch after a run without enough memory, and tries more a minute later', () => {
    const host = aHost({ profile: PROFILE });
    let memoryRows = 3;
    host.onPart = ({ work }) => {
      const batch = host.batches.find(({ parts }) =>
        parts.some((part) => part.work === work && part.rows > 0),
      );
      const rows = host.batches.at(-1)?.rows ?? batch?.rows ?? 0;
      if (rows <= memoryRows) return undefined;
      return { ok: false, code: 'OUT_OF_MEMORY', message: 'Cannot run', fields: [] };
    };
    host.submit();
    host.advance(0.1);
    const works = Array.from({ length: 8 }, () => host.submit());
    host.finish();
    expect(works.map((work) => codeOf(host, work))).toEqual(Array(8).fill('done'));
    expect(host.engine.pools('v')[0]?.maxRows).toBe(2);
    memoryRows = 8;
    host.advance(200_000);
    for (let count = 0; count < 3; count += 1) {
      host.submit();
      host.finish();
      host.advance(61_000);
    }
    expect(host.engine.pools('v')[0]?.maxRows).toBe(8);
  });

  it('fails what does not fit into memory even alone', () => {
    const host = aHost({ profile: PROFILE });
    host.onPart = () => ({ ok: false, code: 'OUT_OF_MEMORY', message: 'Cannot run', fields: [] });
    const work = host.submit();
    host.finish();
    expect(codeOf(host, work)).toBe('OUT_OF_MEMORY');
    expect(host.batches.length).toBeLessThanOrEqual(4);
  });

  it('loses nothing when a runner of two is killed again and again', () => {
    const host = aHost({ profile: DIGITS });
    host.runnerReady(R2, DIGITS);
    const places = [R1, R2];
    const works = [];
    for (let round = 0; round < 30; round += 1) {
      for (let count = 0; count < 40; count += 1) {
        works.push(host.submit({ timeoutMs: 500 }));
        host.advance(1);
      }
      host.submit({ timeoutMs: 500 });
      host.advance(0.01);
      const dead = round % 2;
      const place = places[dead] ?? R1;
      host.runnerLost(place, KILLED);
      const next = { ...R1, runnerId: `${place.runnerId}+${round}` };
      places[dead] = next;
      host.advance(20);
      host.runnerReady(next, DIGITS);
    }
    host.finish();
    expect(works.filter((work) => codeOf(host, work) !== 'done')).toEqual([]);
  });
});

describe('Engine, callers that do not say how long they wait', () => {
  /** Twice the capacity of 7.5 ms a row; callers leave after 500 ms, and nobody told the engine. */
  function overloaded(deadlineTold: boolean): number {
    const image = { fixedMs: 0.1, perRowMs: 7.4, points: [], bestRows: 1 };
    const host = aHost({ profile: image });
    let good = 0;
    host.onSettled = (work, outcome) => {
      if (outcome.kind === 'done' && host.now - work.enqueuedAt <= 500 && host.now > 3000) good += 1;
    };
    const leaving: { at: number; work: ReturnType<typeof host.submit> }[] = [];
    while (host.now < 13_000) {
      leaving.push({
        at: host.now + 500,
        work: host.submit({ timeoutMs: deadlineTold ? 500 : 1000, deadlineTold }),
      });
      host.advance(3.75);
      while ((leaving[0]?.at ?? Infinity) <= host.now) {
        const left = leaving.shift();
        if (left && host.outcomeOf(left.work) === undefined) host.cancel(left.work);
      }
    }
    return good / (10_000 / 7.5);
  }

  it('gives as many good answers under overload as where they say it', () => {
    expect(overloaded(true)).toBeGreaterThan(0.97);
    expect(overloaded(false)).toBeGreaterThan(0.97);
  });
});
