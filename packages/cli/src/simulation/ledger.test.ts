import { describe, expect, it } from 'vitest';
import { type Attempt, workOf } from './engine-port.ts';
import { Ledger } from './ledger.ts';
import { aGroup, aPlan, aRung } from './plan.ts';

const PROFILE = { fixedMs: 1, perRowMs: 1, bestRows: 4, points: [] };

function aLedger(): Ledger {
  const plan = aPlan({
    name: 'spike-3x',
    rungs: [aRung({ profile: PROFILE }), aRung({ profile: PROFILE })],
    groups: [aGroup({ requestsPerSecond: 1 })],
    isSteady: true,
  });
  return new Ledger(plan, { seed: 42, isPunctual: true });
}

function aWork(options: Partial<Attempt> = {}) {
  return workOf({
    identity: 1,
    tenant: 'one',
    lane: 'default',
    quality: 'any',
    rows: 1,
    bucket: 'plain',
    splittable: false,
    bytes: 10,
    sentAt: 0,
    deadline: 100,
    deadlineTold: true,
    costClass: 0,
    costFactor: 1,
    isPoison: false,
    ...options,
  });
}

describe('Ledger', () => {
  it('names the invariant, the seed and the command that shows it again', () => {
    const ledger = aLedger();
    const work = aWork();
    ledger.submitted(work);
    ledger.now = 102;
    expect(() => ledger.step(undefined, () => 0)).toThrow(
      /^outcome-by-deadline: .*seed 42, at 102\.000 ms.*npm run sim -- --scenario spike-3x --seed 42$/,
    );
  });

  it('knows a request that was cancelled by nobody', () => {
    const ledger = aLedger();
    const work = aWork();
    ledger.submitted(work);
    expect(() => ledger.settled(work, { kind: 'cancelled' })).toThrow('cancel-at-once');
  });

  it('compares bytes and batches with what the engine says', () => {
    const ledger = aLedger();
    ledger.submitted(aWork());
    const state = { open: 1, openBytes: 10, waitingWorks: 1, runningBatches: [0, 0], changes: [] };
    ledger.step(state, () => 0);
    expect(() => ledger.step({ ...state, openBytes: 20 }, () => 0)).toThrow('counters-match');
    expect(() => ledger.step({ ...state, runningBatches: [0, 1] }, () => 0)).toThrow('slots-match');
  });

  it('follows the ladder from rung to rung, and counts its changes', () => {
    const to = (at: number, from: number, rung: number) =>
      ({ at, from, to: rung, because: 'overload' }) as const;
    aLedger().ladder([to(1, 0, 1), to(2, 1, 0)]);
    expect(() => aLedger().ladder([to(1, 1, 0)])).toThrow('ladder-legal');
    expect(() => aLedger().ladder([to(1, 0, 2)])).toThrow('ladder-legal');
    const often = Array.from({ length: 7 }, (_, index) => to(index * 1000, index % 2, (index + 1) % 2));
    expect(() => aLedger().ladder(often)).toThrow('more than 6 changes');
  });
});
