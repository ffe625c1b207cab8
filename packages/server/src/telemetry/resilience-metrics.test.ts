import { AnswerCache, type DecisionRecord } from '@gimbal/core';
import { describe, expect, it } from 'vitest';
import { ResilienceMetrics } from './resilience-metrics.ts';

const rows = {
  cache: new AnswerCache().counters,
  quarantine: { inputs: 2, hits: 5 },
  memory: { level: 'tight', usedBytes: 900, limitBytes: undefined },
  ladders: [],
} as const;

function values(metrics: ResilienceMetrics, name: string): Record<string, number> {
  const family = metrics.families(rows).find(({ definition }) => definition.name === name);
  return Object.fromEntries((family?.samples ?? []).map(({ labels, value }) => [labels, value]));
}

describe('ResilienceMetrics', () => {
  it('counts lost runs by model and cause, one for each run', () => {
    const metrics = new ResilienceMetrics();
    const lost = (causes: string[]): DecisionRecord =>
      ({
        model: 'digits',
        lostRuns: causes.map((cause) => ({ cause, alone: false })),
      }) as unknown as DecisionRecord;
    metrics.decided(lost(['crashed', 'crashed']));
    metrics.decided(lost(['hung']));
    metrics.decided(lost([]));
    expect(values(metrics, 'gimbal_lost_runs_total')).toEqual({
      'model="digits",cause="crashed"': 2,
      'model="digits",cause="hung"': 1,
    });
  });

  it('shows one memory level, and no limit where there is none', () => {
    const metrics = new ResilienceMetrics();
    expect(values(metrics, 'gimbal_memory_pressure')).toEqual({
      'level="calm"': 0,
      'level="tight"': 1,
      'level="critical"': 0,
    });
    expect(values(metrics, 'gimbal_memory_limit_bytes')).toEqual({});
    expect(values(metrics, 'gimbal_quarantine_hits_total')).toEqual({ '': 5 });
  });

  it('bounds the series of lost runs', () => {
    const metrics = new ResilienceMetrics();
    for (let model = 0; model < 5000; model += 1) {
      metrics.decided({
        model: `m${model}`,
        lostRuns: [{ cause: 'hung', alone: true }],
      } as unknown as DecisionRecord);
    }
    expect(Object.keys(values(metrics, 'gimbal_lost_runs_total'))).toHaveLength(2000);
  });
});
