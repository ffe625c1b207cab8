import type { Instant, RunnerSpec } from '@gimbal/core';
import type { RunnerProcess } from './runner-process.ts';
import type { RunnerSlot } from './runner-slot.ts';

/** A runner that may have to be replaced. */
export interface Wear {
  readonly slot: Pick<RunnerSlot, 'growth'>;
  readonly runner: Pick<RunnerProcess, 'batches' | 'ageMs' | 'growthBytes'>;
  readonly limits: Pick<RunnerSpec, 'recycleBatches' | 'recycleAgeMs' | 'recycleGrowthBytes'>;
  /** A slope or a jump of its memory is borne for now. */
  readonly mayGrow: boolean;
}

/** Why a runner is to be replaced, for people; undefined while it may go on. A limit of 0 is none. */
export function wornBecause({ slot, runner, limits, mayGrow }: Wear, now: Instant): string | undefined {
  const { recycleBatches, recycleAgeMs, recycleGrowthBytes } = limits;
  if (recycleBatches > 0 && runner.batches >= recycleBatches) return `it has run ${runner.batches} batches`;
  if (recycleAgeMs > 0 && runner.ageMs(now) >= recycleAgeMs) {
    return `it has worked for ${Math.round(runner.ageMs(now) / 1000)} s`;
  }
  if (recycleGrowthBytes === 0) return undefined;
  if (runner.growthBytes >= recycleGrowthBytes) {
    return `its memory has grown by ${Math.round(runner.growthBytes / 1_000_000)} MB since it was loaded`;
  }
  return mayGrow ? undefined : slot.growth.worn?.because;
}
