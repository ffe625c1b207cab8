import type { CatalogueEntry, VersionView } from '@gimbal/core';
import type { AdminPort, QueueReport, RunnerReport } from './admin-port.ts';

/** Everything that is known about one model, for `GET /admin/v1/models`. */
export function modelReport(entry: CatalogueEntry, port: AdminPort): object {
  const queues = port.queues().filter(({ model }) => model === entry.model);
  return {
    name: entry.model,
    versions: entry.versions.map((view) => versionReport(view, queues)),
    failures: entry.failures,
  };
}

function versionReport(view: VersionView, queues: readonly QueueReport[]): object {
  const { spec, statistics } = view;
  const queue = queues.find(({ version }) => version === spec.version);
  return {
    version: spec.version,
    state: view.state,
    reason: view.reason,
    task: spec.task,
    digest: spec.digest,
    variants: view.variants,
    signature: spec.signature,
    max_rows: view.maxRows,
    deadline_ms: spec.deadlineMs,
    batching: spec.batching,
    runners: spec.runners,
    profile: view.profile,
    derivations: spec.derivations,
    queue: { depth: queue?.depth ?? 0, oldest_age_ms: queue?.oldestAgeMs ?? 0 },
    counts: {
      inferences: statistics.inferenceCount,
      executions: statistics.executionCount,
      successes: statistics.success.count,
      failures: statistics.fail.count,
    },
  };
}

/** One line of `GET /admin/v1/runners`; the first nine members are a contract with scripts (3-protocols, section 0). */
export function runnerReport({ model, version, variant, view, inflight }: RunnerReport): object {
  return {
    pid: view.pid ?? null,
    model,
    version,
    variant,
    device: view.device,
    state: view.state,
    restarts: view.restarts,
    inflight,
    batches: view.batches,
    resident_bytes: view.residentBytes,
    transport: view.transport,
  };
}
