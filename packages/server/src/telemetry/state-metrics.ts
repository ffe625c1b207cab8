import type { RunnerState, VersionView } from '@gimbal/core';
import { BATCH_BUCKETS, METRICS } from './metric-definitions.ts';
import {
  type HistogramSample,
  histogramFamily,
  MAX_SERIES_PER_METRIC,
  type MetricFamily,
  type MetricSample,
  renderLabels,
  sampleFamily,
} from './metric-family.ts';
import type { MetricSources, PoolRow } from './metric-sources.ts';

const VERSION_STATES = ['loading', 'ready', 'unloading', 'unavailable', 'failed'] as const;
const RUNNER_STATES = [
  'starting',
  'loading',
  'warming',
  'ready',
  'busy',
  'retiring',
  'stopping',
  'backoff',
  'faulted',
] as const satisfies readonly RunnerState[];

/** What is so at this moment: models, queues, runners, memory, connections. */
export function stateFamilies(sources: MetricSources): MetricFamily[] {
  return [
    sampleFamily(METRICS.modelState, capped(modelStates(sources))),
    histogramFamily(METRICS.batchSize, batchSizes(sources).slice(0, MAX_SERIES_PER_METRIC)),
    ...queueFamilies(sources),
    sampleFamily(
      METRICS.inflight,
      capped(sources.inflight().map(({ model, version, calls }) => sample({ model, version }, calls))),
    ),
    ...runnerFamilies(sources.pools()),
    ...arenaFamilies(sources),
    sampleFamily(METRICS.connections, [{ labels: '', value: sources.connections() }]),
  ];
}

function modelStates(sources: MetricSources): MetricSample[] {
  return sources
    .catalogue()
    .flatMap((entry) => [
      ...entry.versions.flatMap(({ spec, state }) =>
        VERSION_STATES.map((candidate) =>
          sample(
            { model: entry.model, version: spec.version, state: candidate },
            candidate === state ? 1 : 0,
          ),
        ),
      ),
      ...entry.failures
        .filter(({ version }) => !entry.versions.some(({ spec }) => spec.version === version))
        .flatMap(({ version }) =>
          VERSION_STATES.map((candidate) =>
            sample({ model: entry.model, version, state: candidate }, candidate === 'failed' ? 1 : 0),
          ),
        ),
    ]);
}

function batchSizes(sources: MetricSources): HistogramSample[] {
  return sources
    .catalogue()
    .flatMap((entry) => entry.versions)
    .filter((view) => view.statistics.batches.length > 0)
    .map(batchSizeSample);
}

/** The statistics already count runs by size: the histogram is made from them, at no cost to the runs. */
function batchSizeSample({ spec, statistics }: VersionView): HistogramSample {
  const counts = new Array<number>(BATCH_BUCKETS.length + 1).fill(0);
  let sum = 0;
  for (const { rows, computeInfer } of statistics.batches) {
    const found = BATCH_BUCKETS.findIndex((bound) => rows <= bound);
    const bucket = found === -1 ? BATCH_BUCKETS.length : found;
    counts[bucket] = (counts[bucket] ?? 0) + computeInfer.count;
    sum += rows * computeInfer.count;
  }
  const labels = renderLabels({ model: spec.model, version: spec.version });
  return { labels, bounds: BATCH_BUCKETS, counts, sum, exemplars: undefined };
}

function queueFamilies(sources: MetricSources): MetricFamily[] {
  const lanes = new Map<string, { depth: number; oldestAgeMs: number }>();
  for (const { model, lane, depth, oldestAgeMs } of sources.queues()) {
    const labels = renderLabels({ model, lane });
    const known = lanes.get(labels) ?? { depth: 0, oldestAgeMs: 0 };
    lanes.set(labels, {
      depth: known.depth + depth,
      oldestAgeMs: Math.max(known.oldestAgeMs, oldestAgeMs),
    });
  }
  const rows = [...lanes].slice(0, MAX_SERIES_PER_METRIC);
  return [
    sampleFamily(
      METRICS.queueDepth,
      rows.map(([labels, { depth }]) => ({ labels, value: depth })),
    ),
    sampleFamily(
      METRICS.queueAge,
      rows.map(([labels, { oldestAgeMs }]) => ({ labels, value: oldestAgeMs / 1000 })),
    ),
  ];
}

function runnerFamilies(pools: readonly PoolRow[]): MetricFamily[] {
  const states = pools.flatMap(({ model, version, variant, runners }) =>
    RUNNER_STATES.map((state) =>
      sample({ model, version, variant, state }, runners.filter((runner) => runner.state === state).length),
    ),
  );
  const summed = (value: (runner: PoolRow['runners'][number]) => number): MetricSample[] =>
    pools.map(({ model, version, variant, runners }) =>
      sample(
        { model, version, variant },
        runners.reduce((sum, runner) => sum + value(runner), 0),
      ),
    );
  return [
    sampleFamily(METRICS.runnerState, capped(states)),
    sampleFamily(METRICS.runnerRestarts, capped(summed((runner) => runner.restarts))),
    sampleFamily(METRICS.runnerMemory, capped(summed((runner) => runner.residentBytes))),
  ];
}

function arenaFamilies(sources: MetricSources): MetricFamily[] {
  const arenas = sources.arenas();
  return [
    sampleFamily(
      METRICS.arenaUsed,
      capped(arenas.map(({ model, version, usedBytes }) => sample({ model, version }, usedBytes))),
    ),
    sampleFamily(
      METRICS.arenaCapacity,
      capped(arenas.map(({ model, version, capacityBytes }) => sample({ model, version }, capacityBytes))),
    ),
  ];
}

function sample(labels: Readonly<Record<string, string>>, value: number): MetricSample {
  return { labels: renderLabels(labels), value };
}

/** Gauges beyond the cap are left out: a sum over models of what is so now would be no truth about any of them. */
function capped(samples: readonly MetricSample[]): readonly MetricSample[] {
  return samples.slice(0, MAX_SERIES_PER_METRIC);
}
