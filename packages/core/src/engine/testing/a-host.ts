import type { CostProfile } from '../../contract/model.ts';
import type { RunnerPlace } from '../engine-driver.ts';
import type { WorkOutcome } from '../outcome.ts';
import type { PoolOptions } from '../pool.ts';
import type { Work } from '../work.ts';
import { rowsOf, SimulatedHost, type SimulatedPayload } from './simulated-host.ts';

/** Batching pays: 8 rows take 10 ms, one takes 3 ms. */
export const PROFILE: CostProfile = { fixedMs: 2, perRowMs: 1, points: [], bestRows: 8 };
/** As measured on one CPU thread, in ms. */
export const DIGITS: CostProfile = { fixedMs: 0.0245, perRowMs: 0.0036, points: [], bestRows: 8 };
/** Batching does not pay. */
export const IMAGES: CostProfile = { fixedMs: 0.1, perRowMs: 7.4, points: [], bestRows: 1 };

export const R1: RunnerPlace = { version: 'v', rung: 0, runnerId: 'r1' };
export const R2: RunnerPlace = { version: 'v', rung: 0, runnerId: 'r2' };
export const LOWER: RunnerPlace = { version: 'v', rung: 1, runnerId: 'r1' };

type VersionPool = Partial<Omit<PoolOptions, 'version' | 'rung'>>;

export function aHost(
  options: { profile?: CostProfile; rungs?: number; pool?: VersionPool } = {},
): SimulatedHost {
  const host = new SimulatedHost();
  const pool = { maxRows: 'auto' as const, maxDelayMs: 5, preferredSizes: [], ...options.pool };
  host.engine.addVersion({ version: 'v', pools: Array.from({ length: options.rungs ?? 1 }, () => pool) });
  if (options.profile) host.runnerReady(R1, options.profile);
  return host;
}

export function codeOf(host: SimulatedHost, work: Work<SimulatedPayload>): string | undefined {
  const outcome = host.outcomeOf(work);
  return outcome?.kind === 'failed' ? outcome.error.code : outcome?.kind;
}

export function rowsAnswered(outcome: WorkOutcome | undefined): number[] {
  return outcome?.kind === 'done'
    ? outcome.reports.flatMap(({ report }) => rowsOf(report)).map(({ row }) => row)
    : [];
}
