import {
  type BatchReport,
  type CostProfile,
  type Criticality,
  Engine,
  type EngineDriver,
  type EngineVersionOptions,
  type GimbalError,
  type Instant,
  type QualityDemand,
  type Random,
  type RunnerLoss,
  type RunnerPlace,
  type VersionLadder,
  Work,
} from '@gimbal/core';
import type { WorldPlan } from './plan.ts';

/** The only version of a world. */
export const VERSION = 'v1';

/** One try of a request, as the clients know it; the engine never looks into it. */
export interface Attempt {
  /** Unique in a world; answers carry it, so that one work's answer can be told from another's. */
  readonly identity: number;
  readonly tenant: string;
  readonly lane: Criticality;
  readonly quality: QualityDemand;
  readonly rows: number;
  readonly bucket: string;
  readonly splittable: boolean;
  readonly bytes: number;
  readonly sentAt: Instant;
  /** What the server goes by. */
  readonly deadline: Instant;
  readonly deadlineTold: boolean;
  readonly costClass: number;
  /** What a row of it really costs, in rows of the profile. */
  readonly costFactor: number;
  readonly isPoison: boolean;
}

export type SimulatedWork = Work<Attempt>;
export type Probe = Parameters<Engine<Attempt>['submitProbe']>[1];

/** A change of the rung that has most of the traffic. */
export type LadderChange = VersionLadder<Attempt>['controller'] extends { view(): infer View }
  ? View extends { readonly history: readonly (infer Change)[] }
    ? Change
    : never
  : never;

/** What an engine says of itself, to be compared with what the world has seen. */
export interface EngineState {
  readonly open: number;
  readonly openBytes: number;
  readonly waitingWorks: number;
  /** Of each rung. */
  readonly runningBatches: readonly number[];
  readonly changes: readonly LadderChange[];
}

/** What a world asks of an engine: the real one, a baseline, or one with a planted fault. */
export interface EnginePort {
  submit(work: SimulatedWork, now: Instant): void;
  submitProbe(work: SimulatedWork, probe: Probe, now: Instant): void;
  cancel(work: SimulatedWork, now: Instant): void;
  runnerReady(place: RunnerPlace, profile: CostProfile, now: Instant): void;
  runnerRetiring(place: RunnerPlace, now: Instant): void;
  runnerLost(place: RunnerPlace, loss: RunnerLoss, now: Instant): void;
  faulted(place: { version: string; rung: number }, error: GimbalError | undefined, now: Instant): void;
  batchReported(place: RunnerPlace, batchId: number, report: BatchReport, now: Instant): void;
  /** When to be asked again. */
  poll(now: Instant): Instant;
  removeVersion(now: Instant): void;
  /** Undefined when the version is gone, or when the engine keeps no books. */
  state(now: Instant): EngineState | undefined;
  /** Whether it would take a work as this one is, but for its lane. Undefined where it does not tell. */
  wouldTake(work: SimulatedWork, lane: Criticality, now: Instant): boolean | undefined;
}

export type EngineFactory = (
  driver: EngineDriver<Attempt>,
  options: { readonly plan: WorldPlan; readonly random: Random },
) => EnginePort;

/** The real engine of packages/core, with one version that has a pool for each rung. */
export const realEngine: EngineFactory = (driver, { plan, random }) =>
  new RealEngine(driver, versionOptions(plan), random);

export class RealEngine implements EnginePort {
  protected readonly engine: Engine<Attempt>;

  constructor(driver: EngineDriver<Attempt>, options: EngineVersionOptions, random: Random) {
    this.engine = new Engine<Attempt>(driver, { random });
    this.engine.addVersion(options);
  }

  submit(work: SimulatedWork, now: Instant): void {
    this.engine.submit(work, now);
  }

  submitProbe(work: SimulatedWork, probe: Probe, now: Instant): void {
    this.engine.submitProbe(work, probe, now);
  }

  cancel(work: SimulatedWork, _now: Instant): void {
    this.engine.cancel(work);
  }

  runnerReady(place: RunnerPlace, profile: CostProfile, now: Instant): void {
    this.engine.runnerReady(place, profile, now);
  }

  runnerRetiring(place: RunnerPlace, now: Instant): void {
    this.engine.runnerRetiring(place, now);
  }

  runnerLost(place: RunnerPlace, loss: RunnerLoss, now: Instant): void {
    this.engine.runnerLost(place, loss, now);
  }

  faulted(place: { version: string; rung: number }, error: GimbalError | undefined, now: Instant): void {
    this.engine.faulted(place, error, now);
  }

  batchReported(place: RunnerPlace, batchId: number, report: BatchReport, now: Instant): void {
    this.engine.batchReported(place, batchId, report, now);
  }

  poll(now: Instant): Instant {
    return this.engine.poll(now);
  }

  removeVersion(now: Instant): void {
    this.engine.removeVersion(VERSION, now);
  }

  state(now: Instant): EngineState | undefined {
    const ladder = this.engine.ladder(VERSION, now);
    if (!ladder) return undefined;
    return {
      open: this.engine.open,
      openBytes: ladder.openBytes,
      waitingWorks: ladder.pools.reduce((sum, { queue }) => sum + queue.works, 0),
      runningBatches: ladder.pools.map(({ runningBatches }) => runningBatches),
      changes: ladder.controller.view().history,
    };
  }

  wouldTake(work: SimulatedWork, lane: Criticality, now: Instant): boolean | undefined {
    const { rows, deadline, tenant, costClass, bytes, deadlineTold, quality } = work;
    const slip = this.engine.ladder(VERSION, now)?.slip;
    // How much longer than foreseen works wait is learned for each lane alone. A lane that was little used knows less of
    // it than a higher one, and takes more until it has learned: no question of order.
    if (slip && slip.of({ lane, costClass }) < slip.of(work)) return undefined;
    try {
      const ask = { rows, deadline, lane, tenant, costClass, bytes, deadlineTold, quality };
      const arrival = this.engine.admit(VERSION, ask, now);
      arrival.end();
      return true;
    } catch {
      return false;
    }
  }
}

export function versionOptions(plan: WorldPlan): EngineVersionOptions {
  return {
    version: VERSION,
    maxQueuedBytes: plan.maxQueuedBytes,
    ...(plan.maxRunning === undefined ? {} : { maxRunning: plan.maxRunning }),
    pools: plan.rungs.map(() => ({
      maxRows: 'auto' as const,
      maxDelayMs: plan.maxDelayMs,
      preferredSizes: plan.preferredSizes,
      batchesPerRunner: plan.batchesPerRunner,
    })),
  };
}

/** The engine's side of an attempt. */
export function workOf(attempt: Attempt): SimulatedWork {
  const {
    rows,
    bucket,
    splittable,
    lane,
    tenant,
    costClass,
    sentAt,
    deadline,
    deadlineTold,
    quality,
    bytes,
  } = attempt;
  return new Work<Attempt>({
    version: VERSION,
    rows,
    bucket,
    splittable,
    lane,
    tenant,
    costClass,
    enqueuedAt: sentAt,
    deadline,
    deadlineTold,
    quality,
    bytes,
    payload: attempt,
  });
}
