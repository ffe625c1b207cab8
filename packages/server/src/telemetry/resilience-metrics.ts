import type { AnswerCacheCounters, DecisionObserver, DecisionRecord, LadderReport } from '@gimbal/core';
import { METRICS } from './metric-definitions.ts';
import {
  MAX_SERIES_PER_METRIC,
  type MetricFamily,
  type MetricSample,
  renderLabels,
  sampleFamily,
} from './metric-family.ts';

const PRESSURE_LEVELS = ['calm', 'tight', 'critical'] as const;
const BREAKER_STATES = ['closed', 'open', 'half-open'] as const;

/** What watches over the whole server, at one moment. */
export interface GuardRows {
  readonly cache: AnswerCacheCounters;
  readonly quarantine: { readonly inputs: number; readonly hits: number };
  readonly memory: {
    readonly level: (typeof PRESSURE_LEVELS)[number];
    readonly usedBytes: number;
    /** Undefined where nothing limits it, or nothing could be read. */
    readonly limitBytes: number | undefined;
  };
  readonly ladders: readonly LadderReport[];
}

/** Counts what the engine did about runs that came to nothing; shows caches, quarantine, memory and ladders. */
export class ResilienceMetrics implements DecisionObserver {
  /** Labels of the series → runs. */
  readonly #lostRuns = new Map<string, number>();

  decided({ model, lostRuns }: DecisionRecord): void {
    for (const { cause } of lostRuns) {
      const labels = renderLabels({ model, cause });
      const full = this.#lostRuns.size >= MAX_SERIES_PER_METRIC - 1 && !this.#lostRuns.has(labels);
      const key = full ? renderLabels({ model: 'other', cause: 'other' }) : labels;
      this.#lostRuns.set(key, (this.#lostRuns.get(key) ?? 0) + 1);
    }
  }

  families({ cache, quarantine, memory, ladders }: GuardRows): MetricFamily[] {
    return [
      sampleFamily(
        METRICS.lostRuns,
        [...this.#lostRuns].map(([labels, value]) => ({ labels, value })),
      ),
      sampleFamily(METRICS.cacheLookups, [
        sample({ result: 'hit' }, cache.hits),
        sample({ result: 'joined' }, cache.joins),
        sample({ result: 'miss' }, cache.misses + cache.passes),
        sample({ result: 'stale' }, cache.stale),
      ]),
      sampleFamily(METRICS.cacheEvictions, [sample({}, cache.evictions)]),
      sampleFamily(METRICS.cacheBytes, [sample({}, cache.bytes)]),
      sampleFamily(METRICS.cacheEntries, [sample({}, cache.entries)]),
      sampleFamily(METRICS.quarantineInputs, [sample({}, quarantine.inputs)]),
      sampleFamily(METRICS.quarantineHits, [sample({}, quarantine.hits)]),
      sampleFamily(
        METRICS.memoryPressure,
        PRESSURE_LEVELS.map((level) => sample({ level }, level === memory.level ? 1 : 0)),
      ),
      sampleFamily(METRICS.memoryUsed, [sample({}, memory.usedBytes)]),
      sampleFamily(
        METRICS.memoryLimit,
        memory.limitBytes === undefined ? [] : [sample({}, memory.limitBytes)],
      ),
      ...ladderFamilies(ladders),
    ];
  }
}

function ladderFamilies(ladders: readonly LadderReport[]): MetricFamily[] {
  const capped = (samples: MetricSample[]): MetricSample[] => samples.slice(0, MAX_SERIES_PER_METRIC);
  return [
    sampleFamily(
      METRICS.degradationRung,
      capped(ladders.map(({ model, version, position }) => sample({ model, version }, position))),
    ),
    sampleFamily(
      METRICS.degradedSeconds,
      capped(
        ladders.flatMap(({ model, version, rungs }) =>
          rungs
            .filter(({ rung }) => rung > 0)
            .map(({ rung, seconds }) => sample({ model, version, rung: String(rung) }, seconds)),
        ),
      ),
    ),
    sampleFamily(
      METRICS.breakerState,
      capped(
        ladders.flatMap(({ model, version, rungs }) =>
          rungs.flatMap(({ variant, breaker }) =>
            BREAKER_STATES.map((state) =>
              sample({ target: `${model}/${version}/${variant}`, state }, state === breaker ? 1 : 0),
            ),
          ),
        ),
      ),
    ),
  ];
}

function sample(labels: Readonly<Record<string, string>>, value: number): MetricSample {
  return { labels: renderLabels(labels), value };
}
