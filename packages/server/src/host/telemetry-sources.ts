import type { RunnerReport } from '../edge/admin/admin-port.ts';
import type { BreakableRunner } from '../faults/fault-board.ts';
import type { MetricSources } from '../telemetry/metric-sources.ts';
import type { Catalogue } from './catalogue.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { ServedVersion } from './served-version.ts';

/** Reads gauges from what is served; only when somebody scrapes. */
export function metricSources(
  catalogue: () => Catalogue,
  connections: () => number,
  whole: Pick<MetricSources, 'devices' | 'guards'>,
): MetricSources {
  const rows = <Row>(read: (version: ServedVersion) => Row[]): Row[] => catalogue().served().flatMap(read);
  return {
    catalogue: () => catalogue().catalogue(),
    pools: () =>
      rows((version) =>
        version.runnerPools.map((pool, rung) => ({
          ...placeOf(version),
          variant: version.variantNames[rung] ?? '',
          runners: pool.views,
        })),
      ),
    queues: () => rows((version) => version.queue().map((lane) => ({ ...placeOf(version), ...lane }))),
    inflight: () => rows((version) => [{ ...placeOf(version), calls: version.openCalls }]),
    arenas: () =>
      rows((version) => [
        { ...placeOf(version), usedBytes: version.arena.used, capacityBytes: version.arena.capacity },
      ]),
    connections,
    ...whole,
  };
}

export function runnerReports(catalogue: Catalogue, dispatcher: Dispatcher): RunnerReport[] {
  return catalogue.served().flatMap((version) =>
    version.runnerPools.flatMap((pool, rung) =>
      pool.views.map((view) => ({
        ...placeOf(version),
        variant: version.variantNames[rung] ?? '',
        view,
        inflight: dispatcher.runningRows({ version: version.key, rung, runnerId: view.id }),
      })),
    ),
  );
}

/** What drills may break. */
export function breakableRunners(catalogue: Catalogue): BreakableRunner[] {
  return catalogue.served().flatMap((version) =>
    version.runnerPools.flatMap((pool, rung) =>
      pool.views.map(({ id, pid, state, spare }) => ({
        ...placeOf(version),
        variant: version.variantNames[rung] ?? '',
        id,
        pid,
        serves: spare !== true && (state === 'ready' || state === 'busy'),
        inject: (order) => pool.inject?.(id, order),
        relieve: (order) => pool.relieve?.(id, order),
      })),
    ),
  );
}

function placeOf(version: ServedVersion): { model: string; version: string } {
  return { model: version.spec.model, version: version.spec.version };
}
