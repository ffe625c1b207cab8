import { type Criticality, type Random, randomInteger } from '@gimbal/core';
import {
  aGroup,
  aPlan,
  aRung,
  type ClientGroup,
  type CostClass,
  capacityOf,
  type Fault,
  type LoadPhase,
  type RungPlan,
  type WorldPlan,
} from '../packages/cli/src/simulation/plan.ts';
import { chance, pick, randomStream, uniform } from '../packages/cli/src/simulation/random-stream.ts';
import { Violation } from '../packages/cli/src/simulation/violation.ts';
import { runWorld } from '../packages/cli/src/simulation/world.ts';

/** The scenario name of a world of the swarm. */
export const SWARM = 'swarm';
/** Requests of one world, about: so many seeds fit a minute. */
const REQUESTS = 500;
const SHORTEST_MS = 250;
const LONGEST_MS = 20_000;
const LANES: readonly Criticality[] = ['critical', 'default', 'sheddable'];

export interface SwarmResult {
  readonly worlds: number;
  readonly requests: number;
  readonly checks: number;
  readonly violations: readonly Violation[];
}

/** Runs one random world for each seed; goes on when one breaks an invariant, up to a bound. */
export function runSwarm(
  seeds: { readonly first: number; readonly count: number },
  mostViolations = 10,
): SwarmResult {
  const violations: Violation[] = [];
  let worlds = 0;
  let requests = 0;
  let checks = 0;
  for (let seed = seeds.first; seed < seeds.first + seeds.count; seed += 1) {
    worlds += 1;
    try {
      const { tally, checked } = runWorld({ plan: randomPlan(seed), seed });
      requests += tally.requests;
      for (const count of checked.values()) checks += count;
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      violations.push(error);
      if (violations.length >= mostViolations) break;
    }
  }
  return { worlds, requests, checks, violations };
}

/** A world of which everything is drawn from its seed. */
export function randomPlan(seed: number): WorldPlan {
  const random = randomStream(seed, SWARM);
  const rungs = randomRungs(random);
  const base = aPlan({ name: SWARM, rungs, groups: [aGroup({ requestsPerSecond: 1 })] });
  const groups = Array.from({ length: randomInteger(random, { low: 1, high: 3 }) }, (_, index) =>
    randomGroup(random, index),
  );
  const shaped = { ...base, groups };
  const factor = pick(random, [0.3, 0.8, 1, 2, 5]);
  const perSecond = capacityOf(shaped) * factor;
  const durationMs = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, (REQUESTS * 1000) / perSecond));
  return {
    ...base,
    durationMs,
    groups: groups.map((group) =>
      scaled(group, { perSecond: perSecond / groups.length, durationMs, random }),
    ),
    load: randomLoad(random, durationMs),
    faults: randomFaults(random, durationMs, rungs.length),
    maxDelayMs: pick(random, [0, 5, 20]),
    preferredSizes: pick(random, [[], [], [4, 8]]),
    batchesPerRunner: pick(random, [1, 1, 2]),
    maxQueuedBytes: pick(random, [base.maxQueuedBytes, base.maxQueuedBytes, 200_000]),
    modelDeadlineMs: pick(random, [1000, 10_000]),
    maxRunning: rungs.length > 1 ? pick(random, [undefined, 1]) : undefined,
  };
}

function randomRungs(random: Random): RungPlan[] {
  const bestRows = pick(random, [1, 4, 8, 32]);
  const fixedMs = pick(random, [0.1, 2, 20]);
  const perRowMs = pick(random, [0.05, 1, 7]);
  const shared = {
    runners: randomInteger(random, { low: 1, high: 3 }),
    loadMs: pick(random, [50, 400, 1500]),
    noiseRatio: pick(random, [0, 0.03, 0.3]),
    driftRatio: pick(random, [0, 0.03, 0.2]),
    crashRatio: pick(random, [0, 0, 0, 0.01]),
    hangRatio: pick(random, [0, 0, 0, 0.003]),
    leakBytes: pick(random, [0, 0, 1_000_000]),
    recycleGrowthBytes: 20_000_000,
  };
  return Array.from({ length: pick(random, [1, 1, 2, 3]) }, (_, rung) => {
    const profile = { fixedMs: fixedMs / 2 ** rung, perRowMs: perRowMs / 2 ** rung, bestRows, points: [] };
    return aRung({ ...shared, name: `rung-${rung}`, profile });
  });
}

function randomGroup(random: Random, index: number): ClientGroup {
  const shortMs = pick(random, [20, 100, 500, 2000]);
  return aGroup({
    name: `group-${index}`,
    requestsPerSecond: 1,
    tenant: pick(random, ['one', 'two', 'three']),
    lane: pick(random, LANES),
    rows: pick(random, [
      { low: 1, high: 1 },
      { low: 1, high: 4 },
      { low: 1, high: 40 },
    ]),
    splittable: chance(random, 0.5),
    bytes: pick(random, [
      { low: 0, high: 0 },
      { low: 100, high: 20_000 },
    ]),
    costs: randomCosts(random),
    timeoutMs: { low: shortMs, high: shortMs * pick(random, [1, 3]) },
    deadlineIn: pick(random, ['header', 'header', 'client']),
    retry: chance(random, 0.4)
      ? {
          retries: randomInteger(random, { low: 1, high: 3 }),
          firstDelayMs: pick(random, [10, 100]),
          budgetRatio: pick(random, [undefined, 0.1]),
          obeysRetryAfter: chance(random, 0.5),
        }
      : undefined,
    disconnectRatio: pick(random, [0, 0.05, 0.3]),
    poisonRatio: pick(random, [0, 0, 0, 0.004]),
    quality: pick(random, ['any', 'any', 'best-first', 'best-only']),
  });
}

function randomCosts(random: Random): readonly CostClass[] {
  const plain = { bucket: 'plain', costClass: 0, factor: 1, weight: 4 };
  return pick(random, [
    [plain],
    [plain, { bucket: 'large', costClass: 3, factor: 5, weight: 1 }],
    // Of one bucket: a batch may be made of both.
    [plain, { bucket: 'plain', costClass: 3, factor: 3, weight: 2 }],
  ]);
}

function scaled(
  group: ClientGroup,
  { perSecond, durationMs, random }: { perSecond: number; durationMs: number; random: Random },
): ClientGroup {
  const isBursty = chance(random, 0.2);
  const everyMs = durationMs / 4;
  const burst = isBursty ? { requests: Math.ceil((perSecond * everyMs) / 1000), everyMs } : undefined;
  return { ...group, requestsPerSecond: isBursty ? 0 : perSecond, burst };
}

function randomLoad(random: Random, durationMs: number): readonly LoadPhase[] {
  if (chance(random, 0.5)) return [];
  return [
    { untilMs: durationMs / 4, factor: 0.5 },
    { untilMs: durationMs / 2, factor: 2 },
    { untilMs: durationMs, factor: 0.5 },
  ];
}

function randomFaults(random: Random, durationMs: number, rungs: number): readonly Fault[] {
  return Array.from({ length: pick(random, [0, 0, 1, 3]) }, (): Fault => {
    const at = {
      atMs: uniform(random, { low: 0, high: durationMs }),
      rung: Math.floor(random.next() * rungs),
    };
    const forMs = uniform(random, { low: 50, high: durationMs });
    switch (Math.floor(random.next() * 5)) {
      case 0:
        return { ...at, kind: 'kill', everyMs: durationMs / 3 };
      case 1:
        return { ...at, kind: 'hang' };
      case 2:
        return { ...at, kind: 'slow', factor: pick(random, [0.3, 3, 10]), forMs };
      case 3:
        return { ...at, kind: 'device-loss', forMs };
      default:
        return { ...at, kind: 'memory-pressure', maxRows: pick(random, [0, 1, 3, 10]), forMs };
    }
  });
}
