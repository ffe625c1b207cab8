import { readdirSync, readFileSync } from 'node:fs';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import type { Clock } from '@gimbal/core';
import { EventLoopDelay } from './event-loop-delay.ts';
import { Histogram } from './histogram.ts';
import { GC_BUCKETS, METRICS, type MetricDefinition } from './metric-definitions.ts';
import {
  histogramFamily,
  histogramSample,
  type MetricFamily,
  renderLabels,
  sampleFamily,
} from './metric-family.ts';

const MICROSECONDS_PER_SECOND = 1e6;
const GC_KINDS: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weakcb',
};

/** What the host process uses, under the names that the Prometheus clients share. */
export class ProcessMetrics {
  readonly #delay = new EventLoopDelay();
  readonly #pauses = new Map<string, Histogram>();
  readonly #observer: PerformanceObserver;
  readonly #startSeconds: number;

  constructor(clock: Clock) {
    this.#startSeconds = clock.wallTimeMs() / 1000 - process.uptime();
    this.#observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) this.#paused(entry);
    });
    this.#observer.observe({ entryTypes: ['gc'] });
  }

  families(): MetricFamily[] {
    const delay = this.#delay.read();
    const cpu = process.cpuUsage();
    const memory = process.memoryUsage();
    return [
      single(METRICS.lagP50, delay.p50Seconds),
      single(METRICS.lagP99, delay.p99Seconds),
      single(METRICS.lagMax, delay.maxSeconds),
      histogramFamily(METRICS.gcDuration, [...this.#pauses.values()].map(histogramSample)),
      single(METRICS.cpuUser, cpu.user / MICROSECONDS_PER_SECOND),
      single(METRICS.cpuSystem, cpu.system / MICROSECONDS_PER_SECOND),
      single(METRICS.cpu, (cpu.user + cpu.system) / MICROSECONDS_PER_SECOND),
      single(METRICS.startTime, this.#startSeconds),
      single(METRICS.residentMemory, memory.rss),
      single(METRICS.heapUsed, memory.heapUsed),
      single(METRICS.heapTotal, memory.heapTotal),
      single(METRICS.externalMemory, memory.external),
      ...descriptorFamilies(),
    ];
  }

  close(): void {
    this.#delay.close();
    this.#observer.disconnect();
  }

  #paused(entry: { duration: number; detail?: unknown }): void {
    const { kind } = entry.detail as { kind: number };
    const name = GC_KINDS[kind] ?? 'unknown';
    const pauses = this.#pauses.get(name) ?? new Histogram(renderLabels({ kind: name }), GC_BUCKETS);
    this.#pauses.set(name, pauses);
    pauses.observe(entry.duration / 1000);
  }
}

/** Linux only; elsewhere the families are left out. */
function descriptorFamilies(): MetricFamily[] {
  try {
    const open = readdirSync('/proc/self/fd').length - 1;
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    const families = [single(METRICS.openDescriptors, open)];
    if (limit !== undefined) families.push(single(METRICS.maxDescriptors, Number(limit)));
    return families;
  } catch {
    return [];
  }
}

function single(definition: MetricDefinition, value: number): MetricFamily {
  return sampleFamily(definition, [{ labels: '', value }]);
}
