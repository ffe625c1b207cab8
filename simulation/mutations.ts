import type { BatchReport, EngineDriver, Instant, RunnerLoss, RunnerPlace, WorkOutcome } from '@gimbal/core';
import {
  type Attempt,
  type EngineFactory,
  type EnginePort,
  type EngineState,
  RealEngine,
  type SimulatedWork,
  versionOptions,
  workOf,
} from '../packages/cli/src/simulation/engine-port.ts';
import type { SimulatedBatch } from '../packages/cli/src/simulation/fleet.ts';
import type { WorldPlan } from '../packages/cli/src/simulation/plan.ts';
import { type InvariantName, Violation } from '../packages/cli/src/simulation/violation.ts';
import { runWorld } from '../packages/cli/src/simulation/world.ts';
import { planOf, scenarioNamed } from './scenarios.ts';

/** The fault shows itself at every so many of the things that it is about. */
const EVERY = 50;

/** A fault that is planted between a world and the real engine, to see that an invariant finds it. */
export interface Mutation {
  readonly name: string;
  readonly summary: string;
  readonly scenario: string;
  readonly engine: EngineFactory;
}

export interface MutationResult {
  readonly mutation: Mutation;
  /** Undefined: nothing noticed it. */
  readonly foundBy: InvariantName | undefined;
}

type Driver = EngineDriver<Attempt>;

/** Changes what the engine does to the world. */
function throughDriver(change: (driver: Driver) => Partial<Driver>): EngineFactory {
  return (driver, { plan, random }) => {
    const whole: Driver = {
      dispatch: (batch) => driver.dispatch(batch),
      settle: (work, outcome) => driver.settle(work, outcome),
      drained: (version) => driver.drained(version),
      probe: (want) => driver.probe?.(want),
    };
    return new RealEngine({ ...whole, ...change(driver) }, versionOptions(plan), random);
  };
}

/** Changes what the world does to the engine. */
function throughEngine(
  make: (...parts: ConstructorParameters<typeof RealEngine>) => EnginePort,
  adapt: (plan: WorldPlan) => WorldPlan = (plan) => plan,
): EngineFactory {
  return (driver, { plan, random }) => make(driver, versionOptions(adapt(plan)), random);
}

/** True at every `EVERY`th call. */
function nowAndThen(): () => boolean {
  let count = 0;
  return () => {
    count += 1;
    return count % EVERY === 0;
  };
}

class IgnoresCancel extends RealEngine {
  override cancel(): void {}
}

class LosesReports extends RealEngine {
  readonly #isDue = nowAndThen();

  override batchReported(place: RunnerPlace, batchId: number, report: BatchReport, now: Instant): void {
    if (!this.#isDue()) super.batchReported(place, batchId, report, now);
  }
}

class SwapsRows extends RealEngine {
  override batchReported(place: RunnerPlace, batchId: number, report: BatchReport, now: Instant): void {
    const [first, second, ...others] = report.parts;
    const parts = first && second ? [second, first, ...others] : report.parts;
    super.batchReported(place, batchId, { ...report, parts }, now);
  }
}

/** Its clock is behind, so that it takes what is late for punctual. */
class AnswersLate extends RealEngine {
  static readonly BEHIND_MS = 400;

  override batchReported(place: RunnerPlace, batchId: number, report: BatchReport, now: Instant): void {
    super.batchReported(place, batchId, report, now - AnswersLate.BEHIND_MS);
  }

  override submit(work: SimulatedWork, now: Instant): void {
    super.submit(work, now - AnswersLate.BEHIND_MS);
  }

  override poll(now: Instant): Instant {
    return super.poll(now - AnswersLate.BEHIND_MS) + AnswersLate.BEHIND_MS;
  }
}

class CountsWrongly extends RealEngine {
  override state(now: Instant): EngineState | undefined {
    const state = super.state(now);
    return state && { ...state, open: state.open + (state.open > 5 ? 1 : 0) };
  }
}

/** Keeps the work and changes what the engine is told of it. */
class Disguises extends RealEngine {
  readonly #disguised = new Map<SimulatedWork, SimulatedWork>();
  readonly #change: (attempt: Attempt) => Attempt;

  constructor(parts: ConstructorParameters<typeof RealEngine>, change: (attempt: Attempt) => Attempt) {
    super(...parts);
    this.#change = change;
  }

  override submit(work: SimulatedWork, now: Instant): void {
    const disguised = new Proxy(workOf(this.#change(work.payload)), {
      get: (target, name) => (name === 'payload' ? work.payload : Reflect.get(target, name, target)),
      set: (target, name, value) => Reflect.set(target, name, value, target),
    });
    this.#disguised.set(work, disguised);
    super.submit(disguised, now);
  }

  override cancel(work: SimulatedWork, now: Instant): void {
    super.cancel(this.#disguised.get(work) ?? work, now);
  }
}

class ForgetsCrashes extends RealEngine {
  readonly #batches: Map<string, SimulatedBatch>;

  constructor(parts: ConstructorParameters<typeof RealEngine>, batches: Map<string, SimulatedBatch>) {
    super(...parts);
    this.#batches = batches;
  }

  override runnerLost(place: RunnerPlace, loss: RunnerLoss, now: Instant): void {
    for (const { work } of this.#batches.get(place.runnerId)?.parts ?? []) work.ends.length = 0;
    super.runnerLost(place, loss, now);
  }
}

class KeepsVersion extends RealEngine {
  override removeVersion(): void {}
}

/** Goes on where nobody listens any more. */
class RunsCancelled extends RealEngine {
  readonly #driver: Driver;

  constructor(...parts: ConstructorParameters<typeof RealEngine>) {
    super(...parts);
    [this.#driver] = parts;
  }

  override cancel(work: SimulatedWork, _now: Instant): void {
    this.#driver.settle(work, { kind: 'cancelled' });
  }
}

const LANE_UPSIDE_DOWN = { critical: 'sheddable', default: 'default', sheddable: 'critical' } as const;

export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'settles-twice',
    summary: 'tells some outcomes twice',
    scenario: 'steady',
    engine: throughDriver((driver) => {
      const isDue = nowAndThen();
      const settle = (work: SimulatedWork, outcome: WorkOutcome): void => {
        driver.settle(work, outcome);
        if (isDue()) driver.settle(work, outcome);
      };
      return { settle };
    }),
  },
  {
    name: 'drops-an-outcome',
    summary: 'forgets to tell some outcomes',
    scenario: 'steady',
    engine: throughDriver((driver) => {
      const isDue = nowAndThen();
      return { settle: (work, outcome) => (isDue() ? undefined : driver.settle(work, outcome)) };
    }),
  },
  {
    name: 'dispatches-to-the-dead',
    summary: 'gives batches to a runner that is gone',
    scenario: 'runner-kill',
    engine: throughDriver((driver) => {
      const isDue = nowAndThen();
      return { dispatch: (batch) => driver.dispatch(isDue() ? { ...batch, runner: 'r0' } : batch) };
    }),
  },
  {
    name: 'dispatches-to-the-busy',
    summary: 'gives all batches to the first runner',
    scenario: 'poison',
    engine: throughDriver((driver) => ({ dispatch: (batch) => driver.dispatch({ ...batch, runner: 'r1' }) })),
  },
  {
    name: 'runs-twice',
    summary: 'puts a request into a batch twice',
    scenario: 'steady',
    engine: throughDriver((driver) => ({
      dispatch: (batch) => driver.dispatch({ ...batch, parts: [...batch.parts, ...batch.parts.slice(0, 1)] }),
    })),
  },
  {
    name: 'swaps-rows',
    summary: "answers a request with its neighbour's rows",
    scenario: 'steady',
    engine: throughEngine((...parts) => new SwapsRows(...parts)),
  },
  {
    name: 'ignores-cancel',
    summary: 'goes on with what nobody waits for',
    scenario: 'client-kept-deadlines',
    engine: throughEngine((...parts) => new IgnoresCancel(...parts)),
  },
  {
    name: 'runs-the-cancelled',
    summary: 'says that it has cancelled, and runs it all the same',
    scenario: 'client-kept-deadlines',
    engine: throughEngine((...parts) => new RunsCancelled(...parts)),
  },
  {
    name: 'answers-late',
    summary: 'takes the time for 400 ms earlier than it is',
    scenario: 'overload-2x',
    engine: throughEngine((...parts) => new AnswersLate(...parts)),
  },
  {
    name: 'leaks-a-slot',
    summary: 'loses reports of batches',
    scenario: 'steady',
    engine: throughEngine((...parts) => new LosesReports(...parts)),
  },
  {
    name: 'counts-wrongly',
    summary: 'tells one open request too many',
    scenario: 'steady',
    engine: throughEngine((...parts) => new CountsWrongly(...parts)),
  },
  {
    name: 'lanes-upside-down',
    summary: 'serves what is sheddable first',
    scenario: 'critical-share',
    engine: throughEngine(
      (...parts) => new Disguises(parts, (attempt) => ({ ...attempt, lane: LANE_UPSIDE_DOWN[attempt.lane] })),
    ),
  },
  {
    name: 'starves-a-tenant',
    summary: 'knows no tenants, so that the greedy one gets it all',
    scenario: 'greedy-tenant',
    engine: throughEngine((...parts) => new Disguises(parts, (attempt) => ({ ...attempt, tenant: '' }))),
  },
  {
    name: 'poison-again-and-again',
    summary: 'forgets how runs ended',
    scenario: 'poison',
    engine: (driver, { plan, random }) => {
      const batches = new Map<string, SimulatedBatch>();
      const noting: Driver = {
        dispatch: (batch) => {
          batches.set(batch.runner, batch);
          driver.dispatch(batch);
        },
        settle: (work, outcome) => driver.settle(work, outcome),
        drained: (version) => driver.drained(version),
      };
      return new ForgetsCrashes([noting, versionOptions(plan), random], batches);
    },
  },
  {
    name: 'mixes-buckets',
    summary: 'puts inputs of different shapes into one batch',
    scenario: 'mixed',
    engine: throughEngine((...parts) => new Disguises(parts, (attempt) => ({ ...attempt, bucket: 'one' }))),
  },
  {
    name: 'keeps-a-version',
    summary: 'never lets a removed version go',
    scenario: 'runner-kill',
    engine: throughEngine((...parts) => new KeepsVersion(...parts)),
  },
];

/** Runs each planted fault in its scenario, shortened, and says which invariant found it. */
export function runMutations(seed: number): MutationResult[] {
  return MUTATIONS.map((mutation) => ({ mutation, foundBy: findMutation(mutation, seed) }));
}

function findMutation({ scenario, engine }: Mutation, seed: number): InvariantName | undefined {
  const known = scenarioNamed(scenario);
  if (!known) throw new Error(`Cannot plant a fault: scenario ${JSON.stringify(scenario)} does not exist`);
  try {
    runWorld({ plan: planOf(known), seed, engine });
    return undefined;
  } catch (error) {
    if (error instanceof Violation) return error.invariant;
    throw error;
  }
}
