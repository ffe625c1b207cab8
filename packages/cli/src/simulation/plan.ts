import type { CostProfile, Criticality, QualityDemand } from '@gimbal/core';

/** Both ends included. */
export interface Range {
  readonly low: number;
  readonly high: number;
}

/** A variant and the runners that run it: one rung of the ladder. */
export interface RungPlan {
  readonly name: string;
  /** What its runners measure at load and tell the engine. */
  readonly profile: CostProfile;
  readonly runners: number;
  /** Time from spawn to ready. */
  readonly loadMs: number;
  /** Standard deviation of the logarithm of a run's time. */
  readonly noiseRatio: number;
  /** Runs become slower and faster again by this share, slowly. */
  readonly driftRatio: number;
  /** Of batches. */
  readonly crashRatio: number;
  readonly hangRatio: number;
  /** Memory that each batch leaks; the runner is recycled when it has grown by `recycleGrowthBytes`. */
  readonly leakBytes: number;
  readonly recycleGrowthBytes: number;
}

/** Inputs of one kind: they share batches, and cost a factor of what the profile says. */
export interface CostClass {
  readonly bucket: string;
  /** What the engine is told. */
  readonly costClass: number;
  /** What is true. */
  readonly factor: number;
  readonly weight: number;
}

export interface RetryPlan {
  /** Tries after the first. */
  readonly retries: number;
  /** Doubles with each try; full jitter. */
  readonly firstDelayMs: number;
  /** Retries in parts of requests; undefined: without a budget. */
  readonly budgetRatio: number | undefined;
  readonly obeysRetryAfter: boolean;
}

/** Clients of one kind. Open loop: they don't wait for each other's answers. */
export interface ClientGroup {
  readonly name: string;
  readonly tenant: string;
  readonly lane: Criticality;
  readonly requestsPerSecond: number;
  /** Whether the world's load timeline multiplies its rate. */
  readonly followsLoad: boolean;
  /** So many requests at one instant, every so often. */
  readonly burst: { readonly requests: number; readonly everyMs: number } | undefined;
  readonly rows: Range;
  readonly splittable: boolean;
  readonly bytes: Range;
  readonly costs: readonly CostClass[];
  readonly timeoutMs: Range;
  /** `header`: the server is told. `client`: it only sees the client leave. */
  readonly deadlineIn: 'header' | 'client';
  readonly retry: RetryPlan | undefined;
  /** Requests whose client leaves for another reason, at any time before its deadline. */
  readonly disconnectRatio: number;
  /** Inputs that crash the runner. */
  readonly poisonRatio: number;
  readonly quality: QualityDemand;
  /** It asks for less than its share, so nearly all of it must be answered in time, whatever others ask for. */
  readonly isModest: boolean;
}

/** The load is `factor` times the rate until `untilMs`. */
export interface LoadPhase {
  readonly untilMs: number;
  readonly factor: number;
}

/** What goes wrong, at `atMs` and every `everyMs` after it. */
export type Fault = {
  readonly atMs: number;
  readonly everyMs?: number;
  readonly rung?: number;
} & (
  | { readonly kind: 'kill' }
  | { readonly kind: 'hang' }
  | { readonly kind: 'slow'; readonly factor: number; readonly forMs: number }
  | { readonly kind: 'device-loss'; readonly forMs: number }
  /** Batches of more rows run out of memory. */
  | { readonly kind: 'memory-pressure'; readonly maxRows: number; readonly forMs: number }
);

/** Everything about a world but its seed. */
export interface WorldPlan {
  readonly name: string;
  readonly durationMs: number;
  readonly rungs: readonly RungPlan[];
  readonly groups: readonly ClientGroup[];
  readonly load: readonly LoadPhase[];
  readonly faults: readonly Fault[];
  readonly maxDelayMs: number;
  readonly preferredSizes: readonly number[];
  readonly batchesPerRunner: number;
  readonly maxQueuedBytes: number;
  /** The version's deadline, for clients that tell none. */
  readonly modelDeadlineMs: number;
  /** Batches that run at once over all rungs, where they share a processor. */
  readonly maxRunning: number | undefined;
  /** Stretch in which goodput is measured against the capacity. Default: all. */
  readonly measured: { readonly fromMs: number; readonly untilMs: number } | undefined;
  /** From when nothing is wrong any more; undefined: recovery is not measured. */
  readonly calmFromMs: number | undefined;
  /** The load is too high and steady: the ladder has no reason to change often. */
  readonly isSteady: boolean;
}

const NEVER_RECYCLED_BYTES = Number.MAX_SAFE_INTEGER;
const QUEUED_BYTES = 256 * 1024 * 1024;

export function aRung(options: Partial<RungPlan> & Pick<RungPlan, 'profile'>): RungPlan {
  return {
    name: 'fp32',
    runners: 1,
    loadMs: 400,
    noiseRatio: 0.03,
    driftRatio: 0.03,
    crashRatio: 0,
    hangRatio: 0,
    leakBytes: 0,
    recycleGrowthBytes: NEVER_RECYCLED_BYTES,
    ...options,
  };
}

export function aGroup(options: Partial<ClientGroup> & Pick<ClientGroup, 'requestsPerSecond'>): ClientGroup {
  return {
    name: 'clients',
    tenant: 'one',
    lane: 'default',
    followsLoad: true,
    burst: undefined,
    rows: { low: 1, high: 1 },
    splittable: false,
    bytes: { low: 0, high: 0 },
    costs: [{ bucket: 'plain', costClass: 0, factor: 1, weight: 1 }],
    timeoutMs: { low: 500, high: 500 },
    deadlineIn: 'header',
    retry: undefined,
    disconnectRatio: 0,
    poisonRatio: 0,
    quality: 'any',
    isModest: false,
    ...options,
  };
}

export function aPlan(options: Partial<WorldPlan> & Pick<WorldPlan, 'rungs' | 'groups'>): WorldPlan {
  return {
    name: 'world',
    durationMs: 30_000,
    load: [],
    faults: [],
    maxDelayMs: 5,
    preferredSizes: [],
    batchesPerRunner: 1,
    maxQueuedBytes: QUEUED_BYTES,
    modelDeadlineMs: 10_000,
    maxRunning: undefined,
    measured: undefined,
    calmFromMs: undefined,
    isSteady: false,
    ...options,
  };
}

/** Requests per second that the runners of a rung can answer in full batches of the groups' inputs. */
export function capacityOf({ rungs, groups }: WorldPlan, rung = 0): number {
  const plan = rungs[rung];
  if (!plan) return 0;
  const { profile, runners } = plan;
  const rowsPerRequest = weightedMean(groups, ({ rows }) => (rows.low + rows.high) / 2);
  const factor = weightedMean(groups, ({ costs }) => meanCost(costs));
  const runMs = profile.fixedMs + profile.perRowMs * profile.bestRows * factor;
  return (runners * profile.bestRows * 1000) / runMs / Math.max(1, rowsPerRequest);
}

/** The factor of the load at an instant, and until when it holds. */
export function loadAt(load: readonly LoadPhase[], now: number): LoadPhase {
  for (const phase of load) if (now < phase.untilMs) return phase;
  return { untilMs: Number.POSITIVE_INFINITY, factor: 1 };
}

function weightedMean(groups: readonly ClientGroup[], quantity: (group: ClientGroup) => number): number {
  let sum = 0;
  let weights = 0;
  for (const group of groups) {
    const { requestsPerSecond, burst } = group;
    const rate = requestsPerSecond + (burst ? (burst.requests * 1000) / burst.everyMs : 0);
    sum += rate * quantity(group);
    weights += rate;
  }
  return weights > 0 ? sum / weights : 1;
}

function meanCost(costs: readonly CostClass[]): number {
  let sum = 0;
  let weights = 0;
  for (const { factor, weight } of costs) {
    sum += factor * weight;
    weights += weight;
  }
  return sum / weights;
}
