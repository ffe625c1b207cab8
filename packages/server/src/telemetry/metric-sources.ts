import type { CatalogueEntry, Criticality, RunnerView } from '@gimbal/core';
import type { DeviceRows } from './device-metrics.ts';
import type { GuardRows } from './resilience-metrics.ts';

/** The runners of one variant. */
export interface PoolRow {
  readonly model: string;
  readonly version: string;
  readonly variant: string;
  readonly runners: readonly RunnerView[];
}

/** One lane of one version's queue. */
export interface QueueRow {
  readonly model: string;
  readonly version: string;
  readonly lane: Criticality;
  readonly depth: number;
  readonly oldestAgeMs: number;
}

export interface InflightRow {
  readonly model: string;
  readonly version: string;
  readonly calls: number;
}

export interface ArenaRow {
  readonly model: string;
  readonly version: string;
  readonly usedBytes: number;
  readonly capacityBytes: number;
}

/** Where gauges come from: read at scrape time only, so that they cost nothing between scrapes. */
export interface MetricSources {
  catalogue(): readonly CatalogueEntry[];
  pools(): readonly PoolRow[];
  queues(): readonly QueueRow[];
  inflight(): readonly InflightRow[];
  arenas(): readonly ArenaRow[];
  connections(): number;
  guards(): GuardRows;
  /** Of this machine, as last sampled. */
  devices(): DeviceRows;
}
