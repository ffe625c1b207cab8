import type { CallRecord } from '@gimbal/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CallMetrics } from './call-metrics.ts';
import { DURATION_BUCKETS, METRICS } from './metric-definitions.ts';
import type { MetricFamily } from './metric-family.ts';
import { aRecord, stillClock } from './testing/builders.ts';

function aCallMetrics(maxSeries?: number): CallMetrics {
  return new CallMetrics({
    clock: stillClock,
    durationBuckets: DURATION_BUCKETS,
    ...(maxSeries === undefined ? {} : { maxSeries }),
  });
}

function family(metrics: CallMetrics, name: string): MetricFamily {
  const found = metrics.families().find(({ definition }) => definition.name === name);
  if (!found) throw new Error(`no family ${name}`);
  return found;
}

const requests = (metrics: CallMetrics) => family(metrics, METRICS.requests.name).samples;
const durations = (metrics: CallMetrics) => family(metrics, METRICS.requestDuration.name).histograms;
const total = (counts: ArrayLike<number>) => Array.from(counts).reduce((sum, count) => sum + count, 0);

describe('CallMetrics', () => {
  it('counts a call under its model, version, variant, outcome and protocol', () => {
    const metrics = aCallMetrics();
    metrics.finished(aRecord({ protocol: 'v2' }));
    metrics.finished(aRecord({ protocol: 'v2' }));
    metrics.finished(aRecord({ outcome: 'error', code: 'RUNNER_CRASHED' }));
    expect(requests(metrics)).toEqual([
      { labels: 'model="digits",version="1",variant="model",outcome="ok",protocol="v2"', value: 2 },
      { labels: 'model="digits",version="1",variant="model",outcome="error",protocol="native"', value: 1 },
    ]);
  });

  it('observes each stage of a call that was run, and none of one that was not', () => {
    const metrics = aCallMetrics();
    metrics.finished(aRecord({ queueMs: 4, inferMs: 20 }));
    metrics.finished(
      aRecord({ queueMs: undefined, inferMs: undefined, outcome: 'shed', code: 'OVERLOADED' }),
    );
    const stages = family(metrics, METRICS.stageDuration.name).histograms;
    expect(stages.map(({ labels }) => labels.split('stage=')[1])).toEqual([
      '"queue"',
      '"preprocess"',
      '"batch_wait"',
      '"infer"',
      '"postprocess"',
    ]);
    expect(stages.map(({ counts }) => total(counts))).toEqual([1, 1, 1, 1, 1]);
    expect(stages[3]?.sum).toBeCloseTo(0.02);
  });

  it.each([
    ['OVERLOADED', 'queue_full'],
    ['DRAINING', 'drain'],
    ['MODEL_LOADING', 'loading'],
    ['QUOTA_EXCEEDED', 'quota'],
    ['DEADLINE_EXCEEDED', 'deadline'],
  ] as const)('counts %s as shed because of %s', (code, reason) => {
    const metrics = aCallMetrics();
    metrics.finished(aRecord({ code, outcome: 'shed', inferMs: undefined }));
    expect(family(metrics, METRICS.shed.name).samples).toEqual([
      { labels: `model="digits",reason="${reason}"`, value: 1 },
    ]);
  });

  it('does not count a call that ran out of time while running as shed', () => {
    const metrics = aCallMetrics();
    metrics.finished(aRecord({ code: 'DEADLINE_EXCEEDED', outcome: 'timeout', inferMs: 3 }));
    expect(family(metrics, METRICS.shed.name).samples).toEqual([]);
  });

  it('never makes a label of a model or version name that was not found', () => {
    const metrics = aCallMetrics();
    metrics.finished(
      aRecord({ model: 'made up', version: '77777', code: 'MODEL_NOT_FOUND', outcome: 'client_error' }),
    );
    metrics.finished(aRecord({ version: '99999', code: 'VERSION_NOT_FOUND', outcome: 'client_error' }));
    const labels = requests(metrics)
      .map((sample) => sample.labels)
      .join('\n');
    expect(labels).not.toContain('made up');
    expect(labels).not.toContain('99999');
    expect(labels).not.toContain('77777');
  });

  it('keeps 100,000 distinct names under the series cap and counts the rest as other (litellm#12159)', () => {
    const metrics = aCallMetrics(200);
    for (let index = 0; index < 100_000; index += 1) metrics.finished(aRecord({ variant: `v${index}` }));
    expect(requests(metrics).length).toBeLessThanOrEqual(200);
    const other = requests(metrics).find(({ labels }) => labels.includes('model="other"'));
    expect(other?.value).toBe(metrics.dropped);
    expect(requests(metrics).reduce((sum, { value }) => sum + value, 0)).toBe(100_000);
  });

  it('keeps the stage histograms of many versions under the cap', () => {
    const metrics = aCallMetrics(200);
    for (let index = 0; index < 1_000; index += 1) metrics.finished(aRecord({ model: `m${index}` }));
    expect(family(metrics, METRICS.stageDuration.name).histograms.length).toBeLessThanOrEqual(205);
  });

  it('remembers the trace of the last traced call of a bucket', () => {
    const metrics = aCallMetrics();
    metrics.finished(aRecord({ traceId: 'a'.repeat(32), totalMs: 3 }));
    const exemplars = durations(metrics)[0]?.exemplars?.filter((exemplar) => exemplar !== undefined);
    expect(exemplars).toEqual([
      { traceId: 'a'.repeat(32), value: 0.003, wallTimeMs: stillClock.wallTimeMs() },
    ]);
  });

  it.each([Number.NaN, -5, Number.POSITIVE_INFINITY])('survives a duration of %s', (totalMs) => {
    const metrics = aCallMetrics();
    metrics.finished(aRecord({ totalMs }));
    metrics.finished(aRecord({ totalMs: 2 }));
    expect(durations(metrics)[0]?.sum).toBeCloseTo(0.002);
  });

  it('sums failures by the reasons of Triton', () => {
    const metrics = aCallMetrics();
    for (const outcome of ['shed', 'timeout', 'cancelled', 'error', 'client_error', 'ok'] as const) {
      metrics.finished(aRecord({ outcome }));
    }
    expect(metrics.failures()).toEqual([
      { model: 'digits', version: '1', rejected: 2, cancelled: 1, backend: 1, other: 1 },
    ]);
  });
});

describe('CallMetrics, for any calls', () => {
  const anyRecord = fc.record({
    model: fc.option(fc.constantFrom('a', 'b', 'c'), { nil: undefined }),
    version: fc.option(fc.constantFrom('1', '2'), { nil: undefined }),
    variant: fc.option(fc.constantFrom('x', 'y'), { nil: undefined }),
    outcome: fc.constantFrom<CallRecord['outcome']>(
      'ok',
      'degraded',
      'client_error',
      'error',
      'timeout',
      'shed',
      'cancelled',
    ),
    protocol: fc.constantFrom<CallRecord['protocol']>('native', 'v2', 'compat'),
    totalMs: fc.double({ min: 0, max: 1e6, noNaN: true }),
  });

  it('the histogram count equals the sum of the outcome counters (triton server#8125)', () => {
    fc.assert(
      fc.property(fc.array(anyRecord, { maxLength: 300 }), fc.integer({ min: 22, max: 80 }), (calls, cap) => {
        const metrics = aCallMetrics(cap);
        for (const call of calls) metrics.finished(aRecord(call));
        for (const { labels, counts } of durations(metrics)) {
          const counted = requests(metrics)
            .filter((sample) => sample.labels.startsWith(`${labels},protocol=`))
            .reduce((sum, { value }) => sum + value, 0);
          expect(total(counts)).toBe(counted);
        }
        expect(requests(metrics).reduce((sum, { value }) => sum + value, 0)).toBe(calls.length);
        expect(requests(metrics).length).toBeLessThanOrEqual(cap);
      }),
    );
  });
});
