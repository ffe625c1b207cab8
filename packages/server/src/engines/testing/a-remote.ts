import type { RemoteSpec, Signature, VersionSpec } from '@gimbal/core';

export const DOUBLER: Signature = {
  inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 4], axisNames: [null, null] }],
  outputs: [{ name: 'y', datatype: 'FP32', shape: [-1, 4], axisNames: [null, null] }],
  batchAxis: 'dynamic',
};

/** Nothing is declared: the server is asked. */
export const UNDECLARED: Signature = { inputs: [], outputs: [], batchAxis: 'dynamic' };

export function aRemote(part: Partial<RemoteSpec>): RemoteSpec {
  return {
    protocol: 'v2-rest',
    endpoints: [],
    model: 'm',
    version: undefined,
    encoding: 'auto',
    concurrency: 'auto',
    maxConcurrency: 32,
    headers: [],
    tls: undefined,
    connectTimeoutMs: 1_000,
    attemptTimeoutMs: undefined,
    maxResponseBytes: 1024 * 1024,
    probeIntervalMs: 100,
    probeTimeoutMs: 150,
    attempts: 3,
    retryRatio: 0.1,
    hedgeRatio: 0,
    ...part,
  };
}

export function aRemoteVersion(remote: RemoteSpec, part: Partial<VersionSpec> = {}): VersionSpec {
  return {
    model: 'm',
    version: '1',
    folder: '/nowhere',
    digest: '0'.repeat(64),
    task: 'tensor',
    signature: UNDECLARED,
    variants: [{ name: 'remote', file: '', qualityRatio: undefined, image: undefined, remote }],
    labels: undefined,
    columns: undefined,
    text: undefined,
    detection: undefined,
    classification: { activation: 'auto', topK: 5 },
    batching: { maxSize: 'auto', maxDelayMs: 5, preferredSizes: [] },
    runners: { count: 1, threads: 1, spare: 0, recycleBatches: 0, recycleAgeMs: 0, recycleGrowthBytes: 0 },
    deadlineMs: 2_000,
    nonFiniteOutputs: 'error',
    repeatable: true,
    cached: false,
    derivations: [],
    ...part,
  };
}
