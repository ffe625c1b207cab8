import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type CallObserver,
  type CallRecord,
  type Clock,
  type DecisionObserver,
  type DecisionRecord,
  GimbalError,
} from '@gimbal/core';
import { CallMetrics } from './call-metrics.ts';
import { deviceFamilies, tritonDeviceFamilies } from './device-metrics.ts';
import { type ExpositionFormat, expositionChunks } from './exposition.ts';
import { LoadMetrics, type LoadRecord } from './load-metrics.ts';
import { DURATION_BUCKETS, METRICS } from './metric-definitions.ts';
import { type MetricFamily, renderLabels, sampleFamily } from './metric-family.ts';
import type { MetricSources } from './metric-sources.ts';
import { ProcessMetrics } from './process-metrics.ts';
import { ResilienceMetrics } from './resilience-metrics.ts';
import { stateFamilies } from './state-metrics.ts';
import { tritonFamilies } from './triton-metrics.ts';

/** Longest stretch of the event loop that rendering a page may take before other work gets its turn. */
const RENDER_SLICE_MS = 2;
/** A page that takes longer than this is answered with 503. */
const RENDER_LIMIT_MS = 2_000;

/** Text is turned to bytes in pieces of about this length: strings of megabytes would keep the collector busy. */
const PIECE_LENGTH = 64 * 1024;

/** UTF-8 pieces, to be sent one after the other. */
export type MetricsPage = readonly Uint8Array[];

export interface MetricsOptions {
  readonly clock: Clock;
  readonly sources: MetricSources;
  /** Further families of names that other systems chart. */
  readonly compat: readonly 'triton'[];
  /** Thresholds of objectives, in seconds, added to the duration buckets so that their share can be read exactly. */
  readonly thresholdsSeconds: readonly number[];
  readonly build: { readonly version: string; readonly node: string; readonly runtime: string };
  /** Lines that the log had to drop. */
  readonly droppedLogLines: () => number;
}

/**
 * All metrics of the server. Calls are counted as they finish; everything else is read when somebody scrapes. A
 * scrape copies the numbers in one turn and renders the copy in short slices, so a large page never holds up
 * inference; scrapes that come meanwhile share the page being made.
 */
export class Metrics implements CallObserver, DecisionObserver {
  readonly #options: MetricsOptions;
  readonly #calls: CallMetrics;
  readonly #loads = new LoadMetrics();
  readonly #resilience = new ResilienceMetrics();
  readonly #process: ProcessMetrics;
  readonly #rendering = new Map<ExpositionFormat, Promise<MetricsPage>>();

  constructor(options: MetricsOptions) {
    this.#options = options;
    const buckets = new Set<number>([...DURATION_BUCKETS, ...options.thresholdsSeconds]);
    this.#calls = new CallMetrics({
      clock: options.clock,
      durationBuckets: [...buckets].sort((left, right) => left - right),
    });
    this.#process = new ProcessMetrics(options.clock);
  }

  finished(record: CallRecord): void {
    this.#calls.finished(record);
  }

  decided(record: DecisionRecord): void {
    if (record.lostRuns.length > 0) this.#resilience.decided(record);
  }

  loaded(record: LoadRecord): void {
    this.#loads.loaded(record);
  }

  /** The page for `/metrics`. Rejects with OVERLOADED when the loop is too busy to make it in time. */
  page(format: ExpositionFormat): Promise<MetricsPage> {
    const underway = this.#rendering.get(format);
    if (underway) return underway;
    const rendering = this.#render(format).finally(() => this.#rendering.delete(format));
    this.#rendering.set(format, rendering);
    return rendering;
  }

  close(): void {
    this.#process.close();
  }

  async #render(format: ExpositionFormat): Promise<MetricsPage> {
    const { clock } = this.#options;
    const startedAt = clock.now();
    let sliceEndsAt = startedAt + RENDER_SLICE_MS;
    const pieces: Uint8Array[] = [];
    let text = '';
    for (const chunk of expositionChunks(this.#snapshot(), format)) {
      text += chunk;
      if (text.length >= PIECE_LENGTH) {
        pieces.push(Buffer.from(text));
        text = '';
      }
      if (clock.now() < sliceEndsAt) continue;
      await nextTurn();
      const now = clock.now();
      if (now - startedAt > RENDER_LIMIT_MS) throw tooSlow();
      sliceEndsAt = now + RENDER_SLICE_MS;
    }
    pieces.push(Buffer.from(text));
    return pieces;
  }

  #snapshot(): MetricFamily[] {
    const { sources, compat, build, droppedLogLines } = this.#options;
    const devices = sources.devices();
    const families = [
      ...this.#calls.families(),
      ...this.#loads.families(),
      ...stateFamilies(sources),
      ...this.#resilience.families(sources.guards()),
      ...deviceFamilies(devices),
      sampleFamily(METRICS.logDropped, [{ labels: '', value: droppedLogLines() }]),
      sampleFamily(METRICS.seriesDropped, [{ labels: '', value: this.#calls.dropped }]),
      sampleFamily(METRICS.buildInfo, [{ labels: renderLabels(build), value: 1 }]),
      ...this.#process.families(),
    ];
    if (!compat.includes('triton')) return families;
    const failures = this.#calls.failures();
    return [
      ...families,
      ...tritonFamilies({ sources, failures, loadSeconds: this.#loads.lastSamples() }),
      ...tritonDeviceFamilies(devices),
    ];
  }
}

function tooSlow(): GimbalError {
  return new GimbalError(
    'OVERLOADED',
    `Cannot render metrics: the server is busy, expected a page within ${RENDER_LIMIT_MS} ms`,
    { retryAfterMs: RENDER_LIMIT_MS },
  );
}
