import { AnswerCache, type CallRecord, type Clock } from '@gimbal/core';
import type { MetricSources } from '../metric-sources.ts';

/** A clock that stands at noon of a day in 2026. */
export const stillClock: Clock = { now: () => 1_000, wallTimeMs: () => Date.UTC(2026, 8, 1, 12, 0, 0, 250) };

/** A successful call of `digits`, except for what the test is about. */
export function aRecord(fields: Partial<CallRecord> = {}): CallRecord {
  return {
    requestId: '01990000-0000-7000-8000-000000000001',
    protocol: 'native',
    method: 'POST',
    route: '/v1/models/{model}/predict',
    status: 200,
    outcome: 'ok',
    code: undefined,
    detail: undefined,
    model: 'digits',
    version: '1',
    variant: 'model',
    rung: 0,
    rows: 1,
    batchRows: 4,
    queueMs: 0.25,
    batchMs: 0.5,
    preprocessMs: 0,
    inferMs: 1.25,
    postprocessMs: 0.125,
    totalMs: 2.5,
    traceId: undefined,
    requestBytes: 300,
    responseBytes: 120,
    ...fields,
  };
}

/** Sources of a server without models, except for what the test is about. */
export function someSources(parts: Partial<MetricSources> = {}): MetricSources {
  return {
    catalogue: () => [],
    pools: () => [],
    queues: () => [],
    inflight: () => [],
    arenas: () => [],
    connections: () => 0,
    guards: () => ({
      cache: new AnswerCache().counters,
      quarantine: { inputs: 0, hits: 0 },
      memory: { level: 'calm', usedBytes: 1000, limitBytes: 2000 },
      ladders: [],
    }),
    devices: () => ({
      monitor: { kind: 'cpu-only' },
      driver: undefined,
      sampleAgeMs: undefined,
      devices: [],
      xids: [],
    }),
    ...parts,
  };
}
