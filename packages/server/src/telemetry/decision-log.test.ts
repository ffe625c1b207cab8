import type { DecisionRecord } from '@gimbal/core';
import { describe, expect, it } from 'vitest';
import { DecisionLog } from './decision-log.ts';
import { aRecord } from './testing/builders.ts';

function aDecision(fields: Partial<DecisionRecord> = {}): DecisionRecord {
  return {
    requestId: 'r',
    wallTimeMs: 1000,
    model: 'digits',
    version: '1',
    kind: 'answered',
    code: undefined,
    detail: undefined,
    lane: 'default',
    tenant: '',
    rows: 1,
    budgetMs: 500,
    deadlineTold: true,
    predictedWaitMs: 2,
    waitedMs: 3,
    totalMs: 10,
    variant: 'fp32',
    rung: 0,
    degradedBecause: undefined,
    runner: 'r1',
    batchRows: 4,
    lostRuns: [],
    situation: undefined,
    ...fields,
  };
}

describe('DecisionLog', () => {
  it('finds a request with all its decisions, and says when it knows nothing', () => {
    const log = new DecisionLog();
    log.decided(aDecision({ requestId: 'a', wallTimeMs: 2 }));
    log.decided(aDecision({ requestId: 'a', wallTimeMs: 1, kind: 'failed', code: 'RUNNER_CRASHED' }));
    log.decided(aDecision({ requestId: 'b' }));
    log.finished(aRecord({ requestId: 'a' }));
    const story = log.find('a');
    expect(story?.call?.requestId).toBe('a');
    expect(story?.decisions.map(({ kind }) => kind)).toEqual(['failed', 'answered']);
    expect(log.find('c')).toBeUndefined();
  });

  it('remembers what went wrong when successes have long washed it away', () => {
    const log = new DecisionLog();
    log.decided(aDecision({ requestId: 'refused', kind: 'refused', code: 'OVERLOADED' }));
    log.finished(aRecord({ requestId: 'refused', outcome: 'shed' }));
    for (let count = 0; count < 10_000; count += 1) {
      log.decided(aDecision({ requestId: `ok ${count}` }));
      log.finished(aRecord({ requestId: `ok ${count}` }));
    }
    expect(log.find('refused')).toMatchObject({
      call: { outcome: 'shed' },
      decisions: [{ code: 'OVERLOADED' }],
    });
    expect(log.find('ok 0')).toBeUndefined();
    expect(log.find('ok 9999')).toBeDefined();
  });

  it('sums up what did not go well, by model and kind, most frequent first', () => {
    const log = new DecisionLog();
    for (let count = 0; count < 5; count += 1) {
      log.decided(
        aDecision({ requestId: `s${count}`, kind: 'refused', code: 'OVERLOADED', wallTimeMs: count }),
      );
    }
    log.decided(aDecision({ rung: 1, degradedBecause: 'overload', wallTimeMs: 9 }));
    log.decided(aDecision({ model: 'other', kind: 'failed', code: 'MODEL_FAULT' }));
    expect(log.recent({ model: 'digits' })).toMatchObject([
      {
        kind: 'refused',
        code: 'OVERLOADED',
        count: 5,
        firstWallTimeMs: 0,
        lastWallTimeMs: 4,
        examples: ['s4', 's3', 's2'],
      },
      { kind: 'answered', degradedBecause: 'overload', count: 1 },
    ]);
    expect(log.recent({ sinceWallTimeMs: 5 }).map(({ count }) => count)).toEqual([1, 1]);
  });
});
