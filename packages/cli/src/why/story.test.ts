import type { DecisionRecord } from '@gimbal/core';
import { describe, expect, it } from 'vitest';
import { advice, stages, tell } from './story.ts';

function aDecision(fields: Partial<DecisionRecord> = {}): DecisionRecord {
  return {
    requestId: 'r',
    wallTimeMs: 0,
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
    predictedWaitMs: 0,
    waitedMs: 0.2,
    totalMs: 4,
    variant: 'fp32',
    rung: 0,
    degradedBecause: undefined,
    runner: 'digits-1',
    batchRows: 1,
    lostRuns: [],
    situation: undefined,
    ...fields,
  };
}

function told(fields: Partial<DecisionRecord>): string {
  return tell({ call: null, decisions: [aDecision(fields)] }).join('\n');
}

const CROWDED = { queuedRows: 12, runningRows: 1, serving: 1, ladderPosition: 0, closedRungs: [] };

describe('the story of a request', () => {
  it('is short for one that was served at once', () => {
    expect(told({})).toBe(
      'A default request with one row came with 500 ms to be answered.\n' +
        'It was admitted: no wait was foreseen, 0.20 ms it was.\n' +
        'fp32 (rung 0) ran it alone on digits-1; the answer came after 4.00 ms.',
    );
  });

  it('says what was foreseen and what was, and in which company it ran', () => {
    const story = told({ predictedWaitMs: 40, waitedMs: 52, batchRows: 8, tenant: 'acme' });
    expect(story).toContain('of tenant acme');
    expect(story).toContain('a wait of 40.0 ms was foreseen, 52.0 ms it was');
    expect(story).toContain('in a batch of 8 rows');
  });

  it('says why it was refused, what stood before it, and what helps', () => {
    const refused = aDecision({
      kind: 'refused',
      code: 'OVERLOADED',
      detail: 'Cannot finish in time: the queue ahead needs 30 ms more than the deadline leaves',
      predictedWaitMs: undefined,
      situation: { ...CROWDED, closedRungs: [{ rung: 1, because: 'breaker open' }] },
    });
    const story = tell({ call: null, decisions: [refused] });
    expect(story).toContain(
      'At that moment 12 rows waited, 1 ran, and 1 runner took work; the ladder stood at 0.00.',
    );
    expect(story).toContain('Rung 1 got no work: breaker open.');
    expect(advice({ call: null, decisions: [refused] })).toContain('Retry-After');
    const untold = aDecision({ kind: 'refused', code: 'OVERLOADED', deadlineTold: false });
    expect(advice({ call: null, decisions: [untold] })).toContain('Inference-Timeout-Ms');
    expect(tell({ call: null, decisions: [untold] })[0]).toContain('without a deadline of its own');
  });

  it('tells of lost runs, poison, degradation, kept answers and clients that left', () => {
    expect(told({ lostRuns: [{ cause: 'crashed', alone: false }] })).toContain(
      'A run of it came to nothing (crashed, in a batch with others); it was run again.',
    );
    expect(told({ kind: 'failed', code: 'POISON_INPUT', detail: 'Cannot run this input' })).toContain(
      'POISON_INPUT',
    );
    expect(told({ rung: 1, variant: 'int8', degradedBecause: 'overload' })).toContain(
      'Not the best variant: the best one could not have run all that was asked.',
    );
    expect(told({ kind: 'cached', predictedWaitMs: undefined })).toContain('kept answer');
    expect(told({ kind: 'cancelled', waitedMs: undefined, predictedWaitMs: 9 })).toContain(
      'it never came to a runner',
    );
    expect(
      told({ kind: 'failed', code: 'DEADLINE_EXCEEDED', detail: 'late', waitedMs: undefined }),
    ).toContain('late');
  });

  it('draws where the time went, host included', () => {
    const call = { totalMs: 10, queueMs: 5, batchMs: 1, preprocessMs: 0, inferMs: 2, postprocessMs: 1 };
    const lines = stages(call as Parameters<typeof stages>[0]);
    expect(lines).toHaveLength(6);
    expect(lines[0]).toMatch(/^queue +█{16} +5\.00 ms$/);
    expect(lines.at(-1)).toMatch(/^host +█{3} +1\.00 ms$/);
    expect(stages(null)).toEqual([]);
  });
});
