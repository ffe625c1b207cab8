import type { Exemplar, Histogram } from './histogram.ts';
import type { MetricDefinition } from './metric-definitions.ts';

/** One series of a counter or gauge. `labels` is ready to print, without braces: `model="a",version="1"`. */
export interface MetricSample {
  readonly labels: string;
  readonly value: number;
}

/** One series of a histogram, copied at the moment of the snapshot. */
export interface HistogramSample {
  readonly labels: string;
  readonly bounds: readonly number[];
  readonly counts: ArrayLike<number>;
  readonly sum: number;
  readonly exemplars: readonly (Exemplar | undefined)[] | undefined;
}

/** A metric with all its series at one moment. */
export interface MetricFamily {
  readonly definition: MetricDefinition;
  readonly samples: readonly MetricSample[];
  readonly histograms: readonly HistogramSample[];
}

/** Most series that one metric may have; the rest is summed up as `other` (6-operations: series cap). */
export const MAX_SERIES_PER_METRIC = 2_000;

export function sampleFamily(definition: MetricDefinition, samples: readonly MetricSample[]): MetricFamily {
  return { definition, samples, histograms: [] };
}

export function histogramFamily(
  definition: MetricDefinition,
  histograms: readonly HistogramSample[],
): MetricFamily {
  return { definition, samples: [], histograms };
}

export function histogramSample(histogram: Histogram): HistogramSample {
  return {
    labels: histogram.labels,
    bounds: histogram.bounds,
    counts: histogram.counts.slice(),
    sum: histogram.sum,
    exemplars: histogram.exemplars?.slice(),
  };
}

/** Labels of a series, escaped as both exposition formats demand. */
export function renderLabels(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escapeLabel(value)}"`)
    .join(',');
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
