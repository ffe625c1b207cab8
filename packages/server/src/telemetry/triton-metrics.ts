import type { DurationStatistic, VersionView } from '@gimbal/core';
import type { FailureCounts } from './call-metrics.ts';
import { METRICS } from './metric-definitions.ts';
import {
  MAX_SERIES_PER_METRIC,
  type MetricFamily,
  type MetricSample,
  renderLabels,
  sampleFamily,
} from './metric-family.ts';
import type { MetricSources } from './metric-sources.ts';

export interface TritonState {
  readonly sources: MetricSources;
  readonly failures: readonly FailureCounts[];
  readonly loadSeconds: readonly MetricSample[];
}

/**
 * The names that Triton's dashboards and autoscalers chart, with Triton's meanings (docs/user_guide/metrics.md of
 * triton-inference-server/server). Counters follow the V2 statistics of a version, so that both faces agree.
 */
export function tritonFamilies(state: TritonState): MetricFamily[] {
  const views = state.sources
    .catalogue()
    .flatMap((entry) => entry.versions)
    .slice(0, MAX_SERIES_PER_METRIC);
  const counted = (value: (view: VersionView) => number): MetricSample[] =>
    views.map((view) => ({ labels: labelsOf(view), value: value(view) }));
  const micros = (pick: (view: VersionView) => DurationStatistic) =>
    counted((view) => Number(pick(view).ns / 1000n));
  return [
    sampleFamily(
      METRICS.tritonSuccess,
      counted((view) => view.statistics.success.count),
    ),
    sampleFamily(METRICS.tritonFailure, failureSamples(state.failures)),
    sampleFamily(
      METRICS.tritonInferences,
      counted((view) => view.statistics.inferenceCount),
    ),
    sampleFamily(
      METRICS.tritonExecutions,
      counted((view) => view.statistics.executionCount),
    ),
    sampleFamily(METRICS.tritonPending, pendingSamples(state.sources, views)),
    sampleFamily(
      METRICS.tritonRequestUs,
      micros((view) => view.statistics.success),
    ),
    sampleFamily(
      METRICS.tritonQueueUs,
      micros((view) => view.statistics.queue),
    ),
    sampleFamily(
      METRICS.tritonInputUs,
      micros((view) => view.statistics.computeInput),
    ),
    sampleFamily(
      METRICS.tritonInferUs,
      micros((view) => view.statistics.computeInfer),
    ),
    sampleFamily(
      METRICS.tritonOutputUs,
      micros((view) => view.statistics.computeOutput),
    ),
    sampleFamily(METRICS.tritonLoadSeconds, state.loadSeconds),
  ];
}

function failureSamples(failures: readonly FailureCounts[]): MetricSample[] {
  return failures.flatMap(({ model, version, rejected, cancelled, backend, other }) => {
    const counts = { REJECTED: rejected, CANCELED: cancelled, BACKEND: backend, OTHER: other };
    return Object.entries(counts).map(([reason, value]) => ({
      labels: renderLabels({ model, version, reason }),
      value,
    }));
  });
}

function pendingSamples(sources: MetricSources, views: readonly VersionView[]): MetricSample[] {
  const pending = new Map(views.map((view) => [labelsOf(view), 0]));
  for (const { model, version, depth } of sources.queues()) {
    const labels = renderLabels({ model, version });
    if (pending.has(labels)) pending.set(labels, (pending.get(labels) ?? 0) + depth);
  }
  return [...pending].map(([labels, value]) => ({ labels, value }));
}

function labelsOf({ spec }: VersionView): string {
  return renderLabels({ model: spec.model, version: spec.version });
}
