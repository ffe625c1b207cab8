import type { CallObserver, CallRecord, Clock, Outcome, Protocol } from '@gimbal/core';
import { unreachable } from '@gimbal/core';
import { Histogram } from './histogram.ts';
import { METRICS } from './metric-definitions.ts';
import {
  type HistogramSample,
  histogramFamily,
  histogramSample,
  MAX_SERIES_PER_METRIC,
  type MetricFamily,
  type MetricSample,
  renderLabels,
  sampleFamily,
} from './metric-family.ts';

const OUTCOMES = ['ok', 'degraded', 'client_error', 'error', 'timeout', 'shed', 'cancelled'] as const;
const PROTOCOLS = ['native', 'v2', 'compat', 'grpc'] as const;
const STAGES = ['queue', 'preprocess', 'batch_wait', 'infer', 'postprocess'] as const;
const SHED_REASONS = ['queue_full', 'deadline', 'quota', 'drain', 'loading'] as const;
/** Label value of everything beyond the series cap. */
const OTHER = 'other';
/** Prometheus takes an empty label for an absent one: the call reached no model. */
const NONE = '';

type Stage = (typeof STAGES)[number];
type ShedReason = (typeof SHED_REASONS)[number];

/** One series of gimbal_requests_total, tied to the duration histogram that its observations go to. */
class RequestCell {
  count = 0;
  readonly labels: string;
  readonly duration: Histogram;

  constructor(labels: string, duration: Histogram) {
    this.labels = labels;
    this.duration = duration;
  }
}

/** Stage histograms of one version and its variants. */
class VersionSeries {
  readonly model: string;
  readonly version: string;
  readonly queue: Histogram;
  readonly preprocess: Histogram;
  readonly batchWait: Histogram;
  readonly infer: Histogram;
  readonly postprocess: Histogram;
  readonly variants = new Map<string, VariantSeries>();
  ran = false;

  constructor(labels: { model: string; version: string }, bounds: readonly number[]) {
    this.model = labels.model;
    this.version = labels.version;
    const histogram = (stage: Stage) => new Histogram(renderLabels({ ...labels, stage }), bounds);
    this.queue = histogram('queue');
    this.preprocess = histogram('preprocess');
    this.batchWait = histogram('batch_wait');
    this.infer = histogram('infer');
    this.postprocess = histogram('postprocess');
  }

  observe(record: CallRecord): void {
    this.ran = true;
    this.queue.observe((record.queueMs ?? 0) / 1000);
    this.preprocess.observe((record.preprocessMs ?? 0) / 1000);
    this.batchWait.observe((record.batchMs ?? 0) / 1000);
    this.infer.observe((record.inferMs ?? 0) / 1000);
    this.postprocess.observe((record.postprocessMs ?? 0) / 1000);
  }

  stageSamples(): HistogramSample[] {
    if (!this.ran) return [];
    const { queue, preprocess, batchWait, infer, postprocess } = this;
    return [queue, preprocess, batchWait, infer, postprocess].map(histogramSample);
  }

  total(outcome: Outcome): number {
    let total = 0;
    for (const variant of this.variants.values())
      total += variant.durations[outcomeIndex(outcome)]?.count ?? 0;
    return total;
  }
}

class VariantSeries {
  readonly version: VersionSeries;
  readonly variant: string;
  /** By outcome and protocol. */
  readonly cells: (RequestCell | undefined)[] = new Array(OUTCOMES.length * PROTOCOLS.length).fill(undefined);
  /** By outcome. */
  readonly durations: (Histogram | undefined)[] = new Array(OUTCOMES.length).fill(undefined);

  constructor(version: VersionSeries, variant: string) {
    this.version = version;
    this.variant = variant;
  }
}

export interface CallMetricsOptions {
  readonly clock: Clock;
  /** Upper bounds in seconds, ascending. */
  readonly durationBuckets: readonly number[];
  readonly maxSeries?: number;
}

/** Failures of one version by Triton's reasons. */
export interface FailureCounts {
  readonly model: string;
  readonly version: string;
  readonly rejected: number;
  readonly cancelled: number;
  readonly backend: number;
  readonly other: number;
}

/**
 * Counts every finished call. This is the hot path of telemetry (18,000 calls a second on a core that also runs the
 * model): series are objects found by two or three lookups of strings that already exist, and nothing is allocated
 * once a series is known. Counter and histogram are changed together and are copied in one turn, so that a
 * histogram's count always equals the sum of its outcome's counters (triton-inference-server/server#8125).
 */
export class CallMetrics implements CallObserver {
  readonly #clock: Clock;
  readonly #bounds: readonly number[];
  readonly #maxSeries: number;
  readonly #models = new Map<string, Map<string, VersionSeries>>();
  readonly #other: VariantSeries;
  readonly #shed = new Map<string, Float64Array>();
  #last: VariantSeries;
  #cells = 0;
  #versions = 0;
  #dropped = 0;

  constructor(options: CallMetricsOptions) {
    this.#clock = options.clock;
    this.#bounds = options.durationBuckets;
    // The cells of `other` are reserved, so that the cap holds with them.
    this.#maxSeries = (options.maxSeries ?? MAX_SERIES_PER_METRIC) - OUTCOMES.length * PROTOCOLS.length;
    const other = new VersionSeries({ model: OTHER, version: OTHER }, options.durationBuckets);
    this.#other = new VariantSeries(other, OTHER);
    other.variants.set(OTHER, this.#other);
    this.#last = this.#other;
  }

  /** Observations that were counted under `other`. */
  get dropped(): number {
    return this.#dropped;
  }

  finished(record: CallRecord): void {
    const series = this.#seriesOf(record);
    if (series === this.#other) this.#dropped += 1;
    const slot = outcomeIndex(record.outcome) * PROTOCOLS.length + protocolIndex(record.protocol);
    const cell = series.cells[slot] ?? this.#openCell(series, slot);
    const seconds = record.totalMs / 1000;
    cell.count += 1;
    cell.duration.observe(seconds);
    if (record.traceId !== undefined) {
      cell.duration.remember({
        traceId: record.traceId,
        value: seconds,
        wallTimeMs: this.#clock.wallTimeMs(),
      });
    }
    if (record.inferMs !== undefined) series.version.observe(record);
    if (record.code !== undefined) this.#countShed(record);
  }

  /** All series of the call metrics, copied. */
  families(): MetricFamily[] {
    const requests: MetricSample[] = [];
    const durations: HistogramSample[] = [];
    const stages: HistogramSample[] = [];
    for (const version of this.#allVersions()) {
      stages.push(...version.stageSamples());
      for (const variant of version.variants.values()) {
        for (const histogram of variant.durations) if (histogram) durations.push(histogramSample(histogram));
        for (const cell of variant.cells) if (cell) requests.push({ labels: cell.labels, value: cell.count });
      }
    }
    return [
      sampleFamily(METRICS.requests, requests),
      histogramFamily(METRICS.requestDuration, durations),
      histogramFamily(METRICS.stageDuration, stages),
      sampleFamily(METRICS.shed, this.#shedSamples()),
    ];
  }

  /** Failed calls of every version, in Triton's terms. */
  failures(): FailureCounts[] {
    return this.#allVersions()
      .filter((version) => version.model !== NONE)
      .map((version) => ({
        model: version.model,
        version: version.version,
        rejected: version.total('shed') + version.total('timeout'),
        cancelled: version.total('cancelled'),
        backend: version.total('error'),
        other: version.total('client_error'),
      }));
  }

  #allVersions(): VersionSeries[] {
    const all = [...this.#models.values()].flatMap((versions) => [...versions.values()]);
    if (this.#dropped > 0) all.push(this.#other.version);
    return all;
  }

  #seriesOf(record: CallRecord): VariantSeries {
    // A name that was not found is the client's own text: it must not become a label.
    const { code } = record;
    const model = code === 'MODEL_NOT_FOUND' ? NONE : (record.model ?? NONE);
    const known = code !== 'MODEL_NOT_FOUND' && code !== 'VERSION_NOT_FOUND';
    const version = known ? (record.version ?? NONE) : NONE;
    const variant = record.variant ?? NONE;
    const last = this.#last;
    if (last.variant === variant && last.version.version === version && last.version.model === model)
      return last;
    const series =
      this.#models.get(model)?.get(version)?.variants.get(variant) ??
      this.#openVariant({ model, version, variant });
    this.#last = series;
    return series;
  }

  #openVariant(labels: { model: string; version: string; variant: string }): VariantSeries {
    const versions = this.#models.get(labels.model);
    let version = versions?.get(labels.version);
    const stagesFull = (this.#versions + 1) * STAGES.length > this.#maxSeries;
    if (this.#cells >= this.#maxSeries || (!version && stagesFull)) return this.#other;
    if (!version) {
      version = new VersionSeries(labels, this.#bounds);
      this.#versions += 1;
      if (versions) versions.set(labels.version, version);
      else this.#models.set(labels.model, new Map([[labels.version, version]]));
    }
    const variant = new VariantSeries(version, labels.variant);
    version.variants.set(labels.variant, variant);
    return variant;
  }

  #openCell(series: VariantSeries, slot: number): RequestCell {
    if (series !== this.#other && this.#cells >= this.#maxSeries) {
      this.#dropped += 1;
      return this.#other.cells[slot] ?? createCell(this.#other, { slot, bounds: this.#bounds });
    }
    if (series !== this.#other) this.#cells += 1;
    return createCell(series, { slot, bounds: this.#bounds });
  }

  #countShed(record: CallRecord): void {
    const reason = shedReason(record);
    if (reason === undefined) return;
    const model = record.model ?? NONE;
    let counts = this.#shed.get(model);
    if (!counts) {
      const key = (this.#shed.size + 1) * SHED_REASONS.length > this.#maxSeries ? OTHER : model;
      counts = this.#shed.get(key) ?? new Float64Array(SHED_REASONS.length);
      this.#shed.set(key, counts);
    }
    const index = SHED_REASONS.indexOf(reason);
    counts[index] = (counts[index] ?? 0) + 1;
  }

  #shedSamples(): MetricSample[] {
    return [...this.#shed].flatMap(([model, counts]) =>
      SHED_REASONS.map((reason, index) => ({
        labels: renderLabels({ model, reason }),
        value: counts[index] ?? 0,
      })).filter((sample) => sample.value > 0),
    );
  }
}

function createCell(series: VariantSeries, place: { slot: number; bounds: readonly number[] }): RequestCell {
  const index = Math.floor(place.slot / PROTOCOLS.length);
  const { model, version } = series.version;
  const outcome = OUTCOMES[index] ?? OTHER;
  const protocol = PROTOCOLS[place.slot % PROTOCOLS.length] ?? OTHER;
  const labels = renderLabels({ model, version, variant: series.variant, outcome });
  const duration = series.durations[index] ?? new Histogram(labels, place.bounds);
  const cell = new RequestCell(`${labels},${renderLabels({ protocol })}`, duration);
  series.durations[index] = duration;
  series.cells[place.slot] = cell;
  return cell;
}

/** Why a refusal was our own doing; undefined for everything else that a call can end as. */
function shedReason(record: CallRecord): ShedReason | undefined {
  switch (record.code) {
    case 'OVERLOADED':
      return 'queue_full';
    case 'DRAINING':
      return 'drain';
    case 'MODEL_LOADING':
      return 'loading';
    case 'QUOTA_EXCEEDED':
      return 'quota';
    case 'DEADLINE_EXCEEDED':
      // Never run: refused at admission, or dropped from the queue. One that ran too long was not shed.
      return record.inferMs === undefined ? 'deadline' : undefined;
    default:
      return undefined;
  }
}

function outcomeIndex(outcome: Outcome): number {
  switch (outcome) {
    case 'ok':
      return 0;
    case 'degraded':
      return 1;
    case 'client_error':
      return 2;
    case 'error':
      return 3;
    case 'timeout':
      return 4;
    case 'shed':
      return 5;
    case 'cancelled':
      return 6;
    default:
      return unreachable(outcome);
  }
}

function protocolIndex(protocol: Protocol): number {
  switch (protocol) {
    case 'native':
      return 0;
    case 'v2':
      return 1;
    case 'compat':
      return 2;
    case 'grpc':
      return 3;
    default:
      return unreachable(protocol);
  }
}
