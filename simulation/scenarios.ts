import type { CostProfile } from '@gimbal/core';
import {
  aGroup,
  aPlan,
  aRung,
  type ClientGroup,
  capacityOf,
  type WorldPlan,
} from '../packages/cli/src/simulation/plan.ts';
import { profileNamed, rungsOf } from '../packages/cli/src/simulation/profiles.ts';

export interface Scenario {
  readonly name: string;
  readonly summary: string;
  plan(): WorldPlan;
}

/** The plan of a scenario, named by it. */
export function planOf({ name, plan }: Scenario): WorldPlan {
  return { ...plan(), name };
}

/** About 890 rows a second from one runner. */
const BATCHER: CostProfile = {
  fixedMs: 20,
  perRowMs: 0.5,
  bestRows: 32,
  points: [{ rows: 32, medianMs: 36 }],
};
/** About 135 requests a second from one runner. */
const SINGLE: CostProfile = {
  fixedMs: 0.1,
  perRowMs: 7.4,
  bestRows: 1,
  points: [{ rows: 1, medianMs: 7.5 }],
};
const DURATION_MS = 20_000;
/** Load is high from here… */
const FROM_MS = 5_000;
/** …to here. */
const UNTIL_MS = 15_000;
const WARM_UP_MS = 1_000;

/** Clients that ask for a share of what the plan's best rung can do. */
function withLoad(plan: WorldPlan, ratio: number, options: Partial<ClientGroup> = {}): WorldPlan {
  const shaped = { ...plan, groups: [aGroup({ ...options, requestsPerSecond: 1 })] };
  return { ...plan, groups: [aGroup({ ...options, requestsPerSecond: ratio * capacityOf(shaped) })] };
}

function batcher(options: Partial<WorldPlan> = {}): WorldPlan {
  return aPlan({ durationMs: DURATION_MS, rungs: [aRung({ profile: BATCHER })], groups: [], ...options });
}

/** A base of 0.9 of the capacity, and a multiple of the capacity from second 5 to second 15. */
function overload(factor: number, options: Partial<ClientGroup> = {}): WorldPlan {
  const plan = batcher({
    load: [
      { untilMs: FROM_MS, factor: 0.9 },
      { untilMs: UNTIL_MS, factor },
      { untilMs: DURATION_MS, factor: 0.9 },
    ],
    measured: { fromMs: FROM_MS + WARM_UP_MS, untilMs: UNTIL_MS },
    calmFromMs: UNTIL_MS,
  });
  return withLoad(plan, 1, options);
}

/** Two runners of one request at a time, at 60 % of what both can do. */
function pair(options: Partial<WorldPlan>, group: Partial<ClientGroup> = {}): WorldPlan {
  const plan = aPlan({
    durationMs: DURATION_MS,
    rungs: [aRung({ profile: SINGLE, runners: 2 })],
    groups: [],
    ...options,
  });
  return withLoad(plan, 0.6, { timeoutMs: { low: 2000, high: 2000 }, ...group });
}

export const SCENARIOS: readonly Scenario[] = [
  { name: 'steady', summary: '90 % of the capacity', plan: () => withLoad(batcher(), 0.9) },
  {
    name: 'spike-3x',
    summary: 'three times the capacity for 3 s, on a base of 90 %',
    plan: () =>
      withLoad(
        batcher({
          load: [
            { untilMs: FROM_MS, factor: 0.9 },
            { untilMs: FROM_MS + 3_000, factor: 3 },
            { untilMs: DURATION_MS, factor: 0.9 },
          ],
          measured: { fromMs: FROM_MS, untilMs: FROM_MS + 3_000 },
          calmFromMs: FROM_MS + 3_000,
        }),
        1,
      ),
  },
  { name: 'overload-2x', summary: 'twice the capacity for 10 s', plan: () => overload(2) },
  { name: 'overload-5x', summary: 'five times the capacity for 10 s', plan: () => overload(5) },
  { name: 'overload-10x', summary: 'ten times the capacity for 10 s', plan: () => overload(10) },
  {
    name: 'mixed',
    summary: 'small and large inputs in one pool, at 80 % and then at twice the capacity',
    plan: () =>
      overload(2, {
        timeoutMs: { low: 300, high: 1500 },
        costs: [
          { bucket: 'small', costClass: 10, factor: 1, weight: 8 },
          { bucket: 'large', costClass: 14, factor: 4, weight: 2 },
        ],
      }),
  },
  {
    name: 'client-kept-deadlines',
    summary: 'five times the capacity, by clients that leave after 500 ms and never said so',
    plan: () => overload(5, { deadlineIn: 'client' }),
  },
  {
    name: 'retry-storm',
    summary: 'twice the capacity, by clients that ask four times, at once and without a budget',
    plan: () =>
      overload(2, {
        deadlineIn: 'client',
        retry: { retries: 3, firstDelayMs: 50, budgetRatio: undefined, obeysRetryAfter: false },
      }),
  },
  {
    name: 'runner-kill',
    summary: 'kill -9 of one of two runners, every 4 s',
    plan: () => pair({ faults: [{ kind: 'kill', atMs: 4000, everyMs: 4000 }], calmFromMs: 17_000 }),
  },
  {
    name: 'runner-hang',
    summary: 'one of two runners stops answering, twice',
    plan: () => pair({ faults: [{ kind: 'hang', atMs: 4000, everyMs: 7000 }], calmFromMs: 14_000 }),
  },
  {
    name: 'poison',
    summary: 'one input in two thousand crashes whatever runs it',
    plan: () => pair({}, { poisonRatio: 0.0005 }),
  },
  {
    name: 'slow-device',
    summary: 'runs take three times as long for 5 s, and nobody says so',
    plan: () =>
      withLoad(
        batcher({
          faults: [{ kind: 'slow', factor: 3, atMs: FROM_MS, forMs: 5000 }],
          calmFromMs: FROM_MS + 5000,
        }),
        0.8,
      ),
  },
  {
    name: 'greedy-tenant',
    summary: 'a tenant that asks for twenty times its share beside one that asks for less',
    plan: () => greedyTenant(),
  },
  {
    name: 'critical-share',
    summary: 'three lanes at three times the capacity together, the critical one at 40 %',
    plan: () => lanes(),
  },
  {
    name: 'ladder-3x',
    summary: 'three variants, at three times what the best can do',
    plan: () => ladder(),
  },
];

export function scenarioNamed(name: string): Scenario | undefined {
  return SCENARIOS.find((scenario) => scenario.name === name);
}

function greedyTenant(): WorldPlan {
  const plan = batcher();
  const share = capacityOf({ ...plan, groups: [aGroup({ requestsPerSecond: 1 })] }) / 2;
  return {
    ...plan,
    groups: [
      aGroup({ name: 'greedy', tenant: 'greedy', requestsPerSecond: share * 20 }),
      aGroup({ name: 'modest', tenant: 'modest', requestsPerSecond: share * 0.5, isModest: true }),
    ],
  };
}

function lanes(): WorldPlan {
  const plan = batcher();
  const capacity = capacityOf({ ...plan, groups: [aGroup({ requestsPerSecond: 1 })] });
  return {
    ...plan,
    groups: [
      aGroup({ name: 'critical', lane: 'critical', requestsPerSecond: capacity * 0.4, isModest: true }),
      aGroup({ name: 'default', lane: 'default', requestsPerSecond: capacity * 1.6 }),
      aGroup({ name: 'sheddable', lane: 'sheddable', requestsPerSecond: capacity }),
      aGroup({
        name: 'critical bursts',
        lane: 'critical',
        requestsPerSecond: 0,
        burst: { requests: 40, everyMs: 1000 },
        timeoutMs: { low: 100, high: 600 },
      }),
    ],
  };
}

function ladder(): WorldPlan {
  const model = profileNamed('efficientnet');
  const rungs = model ? rungsOf(model) : [];
  const plan = aPlan({
    durationMs: 60_000,
    rungs,
    groups: [],
    maxRunning: 1,
    measured: { fromMs: 5_000, untilMs: 60_000 },
    isSteady: true,
  });
  return withLoad(plan, 3);
}
