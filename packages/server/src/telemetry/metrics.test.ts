import type { RunnerView, VersionView } from '@gimbal/core';
import { afterEach, describe, expect, it } from 'vitest';
import { METRICS } from './metric-definitions.ts';
import { Metrics, type MetricsOptions } from './metrics.ts';
import { aRecord, someSources, stillClock } from './testing/builders.ts';

const open: Metrics[] = [];
afterEach(() => {
  for (const metrics of open.splice(0)) metrics.close();
});

function someMetrics(options: Partial<MetricsOptions> = {}): Metrics {
  const metrics = new Metrics({
    clock: stillClock,
    sources: someSources(),
    compat: [],
    thresholdsSeconds: [],
    build: { version: '0.1.0', node: '24', runtime: '1.30' },
    droppedLogLines: () => 3,
    ...options,
  });
  open.push(metrics);
  return metrics;
}

const statistic = (count: number, ns = 0n) => ({ count, ns });

function aView(state: VersionView['state'] = 'ready'): VersionView {
  return {
    spec: { model: 'digits', version: '2' },
    state,
    statistics: {
      lastInferenceMs: 0,
      inferenceCount: 14,
      executionCount: 3,
      success: statistic(10, 5_000_000n),
      fail: statistic(0),
      queue: statistic(10, 1_000_000n),
      computeInput: statistic(10, 10_000n),
      computeInfer: statistic(10, 3_000_000n),
      computeOutput: statistic(10, 20_000n),
      batches: [
        { rows: 4, computeInput: statistic(2), computeInfer: statistic(2), computeOutput: statistic(2) },
        { rows: 6, computeInput: statistic(1), computeInfer: statistic(1), computeOutput: statistic(1) },
      ],
    },
  } as unknown as VersionView;
}

const aRunner = (fields: Partial<RunnerView> = {}): RunnerView => ({
  id: 'r1',
  pid: 1,
  state: 'ready',
  device: 'cpu',
  restarts: 0,
  batches: 0,
  residentBytes: 1_000,
  transport: 'shared-memory',
  ...fields,
});

const text = async (metrics: Metrics, format: 'prometheus' | 'openmetrics' = 'prometheus') =>
  Buffer.concat(await metrics.page(format)).toString();
const lines = async (metrics: Metrics, format: 'prometheus' | 'openmetrics' = 'prometheus') =>
  (await text(metrics, format)).split('\n');

describe('Metrics', () => {
  it('writes the HELP, the TYPE and the series of a counter', async () => {
    const metrics = someMetrics();
    metrics.finished(aRecord());
    const page = await lines(metrics);
    expect(page).toContain('# TYPE gimbal_requests_total counter');
    expect(page).toContain(
      'gimbal_requests_total{model="digits",version="1",variant="model",outcome="ok",protocol="native"} 1',
    );
  });

  it('writes cumulated buckets, sum and count of a histogram', async () => {
    const metrics = someMetrics();
    metrics.finished(aRecord({ totalMs: 2 }));
    metrics.finished(aRecord({ totalMs: 70_000 }));
    const labels = 'model="digits",version="1",variant="model",outcome="ok"';
    const page = await lines(metrics);
    expect(page).toContain(`gimbal_request_duration_seconds_bucket{${labels},le="0.001"} 0`);
    expect(page).toContain(`gimbal_request_duration_seconds_bucket{${labels},le="0.0025"} 1`);
    expect(page).toContain(`gimbal_request_duration_seconds_bucket{${labels},le="60"} 1`);
    expect(page).toContain(`gimbal_request_duration_seconds_bucket{${labels},le="+Inf"} 2`);
    expect(page).toContain(`gimbal_request_duration_seconds_sum{${labels}} 70.002`);
    expect(page).toContain(`gimbal_request_duration_seconds_count{${labels}} 2`);
  });

  it('gives the threshold of an objective a bucket of its own', async () => {
    const metrics = someMetrics({ thresholdsSeconds: [0.2] });
    metrics.finished(aRecord());
    expect(await text(metrics)).toContain('le="0.2"');
  });

  it('writes OpenMetrics: families without _total, whole bounds with .0, an end', async () => {
    const metrics = someMetrics({ compat: ['triton'], sources: someSources({ catalogue: withDigits }) });
    metrics.finished(aRecord({ traceId: 'ab'.repeat(16) }));
    const page = await lines(metrics, 'openmetrics');
    expect(page).toContain('# TYPE gimbal_requests counter');
    expect(page).toContain('# TYPE nv_inference_count unknown');
    expect(page.some((line) => line.includes('le="1.0"'))).toBe(true);
    expect(
      page.some((line) => line.includes(` # {trace_id="${'ab'.repeat(16)}"} 0.0025 1788264000.250`)),
    ).toBe(true);
    expect(page.slice(-2)).toEqual(['# EOF', '']);
  });

  it('escapes quotes, backslashes and newlines of a label', async () => {
    const metrics = someMetrics();
    metrics.finished(aRecord({ variant: 'a"b\\c\nd' }));
    expect(await text(metrics)).toContain('variant="a\\"b\\\\c\\nd"');
  });

  it('tells the state of versions, failed folders included', async () => {
    const failures = [{ version: '9', reason: 'Cannot read' }];
    const catalogue = () => [{ model: 'digits', versions: [aView('loading')], failures }];
    const page = await lines(someMetrics({ sources: someSources({ catalogue }) }));
    expect(page).toContain('gimbal_model_state{model="digits",version="2",state="loading"} 1');
    expect(page).toContain('gimbal_model_state{model="digits",version="2",state="ready"} 0');
    expect(page).toContain('gimbal_model_state{model="digits",version="9",state="failed"} 1');
  });

  it('makes the batch size histogram from the runs that the statistics counted', async () => {
    const page = await lines(someMetrics({ sources: someSources({ catalogue: withDigits }) }));
    expect(page).toContain('gimbal_batch_size_bucket{model="digits",version="2",le="4"} 2');
    expect(page).toContain('gimbal_batch_size_bucket{model="digits",version="2",le="8"} 3');
    expect(page).toContain('gimbal_batch_size_sum{model="digits",version="2"} 14');
  });

  it('tells runners by state, their restarts and their memory', async () => {
    const runners = [aRunner({ restarts: 2 }), aRunner({ state: 'busy', restarts: 1 })];
    const pools = () => [{ model: 'digits', version: '2', variant: 'model', runners }];
    const page = await lines(someMetrics({ sources: someSources({ pools }) }));
    const labels = 'model="digits",version="2",variant="model"';
    expect(page).toContain(`gimbal_runner_state{${labels},state="ready"} 1`);
    expect(page).toContain(`gimbal_runner_state{${labels},state="faulted"} 0`);
    expect(page).toContain(`gimbal_runner_restarts_total{${labels}} 3`);
    expect(page).toContain(`gimbal_runner_resident_memory_bytes{${labels}} 2000`);
  });

  it('sums queues of one model over its versions and gives the oldest age', async () => {
    const queues = () => [
      { model: 'digits', version: '1', lane: 'default' as const, depth: 2, oldestAgeMs: 40 },
      { model: 'digits', version: '2', lane: 'default' as const, depth: 3, oldestAgeMs: 10 },
    ];
    const page = await lines(someMetrics({ sources: someSources({ queues }) }));
    expect(page).toContain('gimbal_queue_depth{model="digits",lane="default"} 5');
    expect(page).toContain('gimbal_queue_oldest_age_seconds{model="digits",lane="default"} 0.04');
  });

  it('serves the names of Triton only when asked to', async () => {
    const sources = someSources({ catalogue: withDigits });
    expect(await text(someMetrics({ sources }))).not.toContain('nv_');
    const metrics = someMetrics({ sources, compat: ['triton'] });
    metrics.finished(aRecord({ version: '2', outcome: 'cancelled' }));
    const page = await lines(metrics);
    expect(page).toContain('nv_inference_request_success{model="digits",version="2"} 10');
    expect(page).toContain('nv_inference_count{model="digits",version="2"} 14');
    expect(page).toContain('nv_inference_exec_count{model="digits",version="2"} 3');
    expect(page).toContain('nv_inference_request_duration_us{model="digits",version="2"} 5000');
    expect(page).toContain('nv_inference_request_failure{model="digits",version="2",reason="CANCELED"} 1');
    expect(page).toContain('nv_inference_pending_request_count{model="digits",version="2"} 0');
  });

  it('measures its own process: loop delay, memory, CPU, dropped log lines', async () => {
    const page = await text(someMetrics());
    for (const name of [
      METRICS.lagP99.name,
      METRICS.lagMax.name,
      METRICS.residentMemory.name,
      METRICS.cpu.name,
    ]) {
      expect(page).toMatch(new RegExp(`^${name} \\d`, 'm'));
    }
    expect(page).toContain('gimbal_log_lines_dropped_total 3');
  });

  it('shares one page among scrapes that come together', async () => {
    let snapshots = 0;
    const connections = () => {
      snapshots += 1;
      return 7;
    };
    const metrics = someMetrics({ sources: someSources({ connections }) });
    const pages = await Promise.all([metrics.page('prometheus'), metrics.page('prometheus')]);
    expect(pages[0]).toBe(pages[1]);
    expect(snapshots).toBe(1);
    expect(await text(metrics)).toContain('gimbal_connections 7');
    expect(snapshots).toBe(2);
  });

  it('answers OVERLOADED when the page takes too long', async () => {
    let now = 0;
    const clock = { now: () => (now += 900), wallTimeMs: () => 0 };
    await expect(someMetrics({ clock }).page('prometheus')).rejects.toMatchObject({ code: 'OVERLOADED' });
  });
});

describe('METRICS', () => {
  it('has one name for each metric, units in base units, and _total on our counters', () => {
    const all = Object.values(METRICS);
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
    for (const { name, type, group } of all.filter((metric) => metric.group !== 'triton')) {
      expect(name, group).toMatch(/^[a-z][a-z0-9_]*$/);
      expect(name.endsWith('_total'), name).toBe(type === 'counter');
      expect(name).not.toMatch(/_(ms|us|millis|kb|mb)(_|$)/);
    }
  });
});

function withDigits() {
  return [{ model: 'digits', versions: [aView()], failures: [] }];
}
