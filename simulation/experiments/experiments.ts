import { type EngineFactory, realEngine } from '../../packages/cli/src/simulation/engine-port.ts';
import { aGroup, aPlan, aRung, capacityOf, type WorldPlan } from '../../packages/cli/src/simulation/plan.ts';
import { profileNamed, rungsOf } from '../../packages/cli/src/simulation/profiles.ts';
import { summaryOf } from '../../packages/cli/src/simulation/summary.ts';
import { runWorld } from '../../packages/cli/src/simulation/world.ts';
import { FixedLimiter } from '../baselines/fixed-limiter.ts';
import { GradientLimiter } from '../baselines/gradient-limiter.ts';
import { type NaivePolicy, naiveEngine } from '../baselines/naive-engine.ts';

export interface ExperimentTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface Experiment {
  readonly name: string;
  readonly summary: string;
  run(seed: number): ExperimentTable;
}

interface Contender {
  readonly name: string;
  readonly engine: EngineFactory;
  readonly demands: 'all' | 'none';
}

const WARM_UP_MS = 5_000;
const DURATION_MS = 20_000;
/** Queues that are "unbounded" are bounded by this, which no run reaches. */
const UNBOUNDED = 10_000_000;
const BATCH_ROWS = 32;

const OURS: Contender = { name: 'Gimbal', engine: realEngine, demands: 'all' };

function naive(name: string, policy: NaivePolicy): Contender {
  return { name, engine: naiveEngine(policy), demands: 'none' };
}

const ADMISSION: readonly Contender[] = [
  naive('first come first served, unbounded', { maxWaiting: UNBOUNDED, dropMargin: undefined }),
  naive('first come first served, 1024 waiting', { maxWaiting: 1024, dropMargin: undefined }),
  naive('drops what is late when its turn comes', { maxWaiting: UNBOUNDED, dropMargin: 0 }),
  naive('drops what is within 1.0 batch time of late', { maxWaiting: UNBOUNDED, dropMargin: 1 }),
  OURS,
];

const CONCURRENCY: readonly Contender[] = [
  naive('gradient of latency', {
    maxWaiting: UNBOUNDED,
    dropMargin: 1,
    limiter: () => new GradientLimiter(),
  }),
  naive('fixed: 2 batches', {
    maxWaiting: UNBOUNDED,
    dropMargin: 1,
    limiter: () => new FixedLimiter(2 * BATCH_ROWS),
  }),
  OURS,
];

export const EXPERIMENTS: readonly Experiment[] = [
  {
    name: 'admission',
    summary: 'what is answered in time at 2, 5 and 10 times the capacity, by how the queue is bounded',
    run: (seed) => compare(ADMISSION, [2, 5, 10], seed),
  },
  {
    name: 'concurrency',
    summary: 'what is answered in time at 0.9, 2 and 5 times the capacity, by how many requests are let in',
    run: (seed) => compare(CONCURRENCY, [0.9, 2, 5], seed),
  },
];

/** Goodput in % of the capacity, and the 99th percentile of what was answered. */
function compare(
  contenders: readonly Contender[],
  factors: readonly number[],
  seed: number,
): ExperimentTable {
  const rows = contenders.map(({ name, engine, demands }) => {
    const cells = factors.map((factor) => {
      const { goodputRatio, p99Ms } = summaryOf(runWorld({ plan: planAt(factor), seed, engine, demands }));
      return `${(goodputRatio * 100).toFixed(1)} (p99 ${p99Ms.toFixed(0)} ms)`;
    });
    return [name, ...cells];
  });
  return { columns: ['policy', ...factors.map((factor) => `${factor}×`)], rows };
}

/** 20 + 0.5n ms, batches of 32, deadlines of 500 ms that the server is told. */
function planAt(factor: number): WorldPlan {
  const model = profileNamed('batcher');
  const rungs = model
    ? rungsOf(model, { driftRatio: 0 })
    : [aRung({ profile: { fixedMs: 20, perRowMs: 0.5, bestRows: 32, points: [] } })];
  const plan = aPlan({
    name: `experiment at ${factor}`,
    durationMs: DURATION_MS,
    measured: { fromMs: WARM_UP_MS, untilMs: DURATION_MS },
    rungs,
    groups: [aGroup({ requestsPerSecond: 1 })],
  });
  return { ...plan, groups: [aGroup({ requestsPerSecond: factor * capacityOf(plan) })] };
}
