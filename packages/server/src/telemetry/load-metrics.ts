import { Histogram } from './histogram.ts';
import { LOAD_BUCKETS, METRICS } from './metric-definitions.ts';
import {
  histogramFamily,
  histogramSample,
  MAX_SERIES_PER_METRIC,
  type MetricFamily,
  type MetricSample,
  renderLabels,
} from './metric-family.ts';

/** A version that became ready, and how long that took. */
export interface LoadRecord {
  readonly model: string;
  readonly version: string;
  readonly durationMs: number;
}

/** How long loads took. */
export class LoadMetrics {
  readonly #series = new Map<string, Histogram>();
  readonly #lastSeconds = new Map<string, number>();

  loaded(record: LoadRecord): void {
    const seconds = record.durationMs / 1000;
    const labels = renderLabels({ model: record.model, version: record.version });
    const full = this.#series.size >= MAX_SERIES_PER_METRIC - 1;
    const key =
      full && !this.#series.has(labels) ? renderLabels({ model: 'other', version: 'other' }) : labels;
    const histogram = this.#series.get(key) ?? new Histogram(key, LOAD_BUCKETS);
    this.#series.set(key, histogram);
    histogram.observe(seconds);
    this.#lastSeconds.set(key, seconds);
  }

  families(): MetricFamily[] {
    return [histogramFamily(METRICS.loadDuration, [...this.#series.values()].map(histogramSample))];
  }

  /** Duration of the last load of each version, in seconds. */
  lastSamples(): readonly MetricSample[] {
    return [...this.#lastSeconds].map(([labels, value]) => ({ labels, value }));
  }
}
