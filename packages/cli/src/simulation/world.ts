import type {
  BatchReport,
  CostProfile,
  EngineDriver,
  GimbalError,
  Instant,
  RunnerLoss,
  RunnerPlace,
  WorkOutcome,
} from '@gimbal/core';
import { Clients } from './clients.ts';
import {
  type Attempt,
  type EngineFactory,
  type EnginePort,
  type EngineState,
  type Probe,
  realEngine,
  type SimulatedWork,
  VERSION,
} from './engine-port.ts';
import { Fleet, type FleetEvents, type SimulatedBatch } from './fleet.ts';
import { Ledger } from './ledger.ts';
import { capacityOf, type Fault, type WorldPlan } from './plan.ts';
import { randomStream } from './random-stream.ts';
import { Tally } from './tally.ts';
import { VirtualClock } from './virtual-clock.ts';

/** A host's event loop comes round this often while the engine asks for the next turn. */
const TURN_MS = 0.25;
/** A world that takes more steps than this for a millisecond of its time is stuck. */
const MAX_STEPS_PER_MS = 10_000;
/** Works that are open when the last client has come end by their deadlines, and this much later at the latest. */
const AFTERMATH_MS = 30_000;
const DEADLINES_LOOKED_AT_EVERY_MS = 100;
const PROBE_TIMEOUT_MS = 2000;
/** What a modest tenant asks for is answered in time, but for this. */
const MODEST_SERVED_RATIO = 0.95;
/** Asked for so little, a ratio says nothing. */
const MODEST_LEAST_REQUESTS = 50;

export interface WorldOptions {
  readonly plan: WorldPlan;
  readonly seed: number;
  /** Default: the real one. */
  readonly engine?: EngineFactory;
  /** `none`: only what any engine must do; a baseline may be late. */
  readonly demands?: 'all' | 'none';
}

/** What came of a world. */
export interface WorldResult {
  readonly plan: WorldPlan;
  readonly seed: number;
  readonly tally: Tally;
  readonly steps: number;
  /** Requests that the runners of the best rung can answer a second. */
  readonly capacityPerSecond: number;
  readonly recoveryMs: number | undefined;
  readonly ladderChanges: EngineState['changes'];
  /** How often each invariant was looked at. */
  readonly checked: ReadonlyMap<string, number>;
}

/** Runs a world to its end; throws a Violation when an invariant breaks. */
export function runWorld(options: WorldOptions): WorldResult {
  return new World(options).run();
}

/** A driver of an engine whose runners and clients live on a virtual clock. */
class World implements EngineDriver<Attempt> {
  readonly #plan: WorldPlan;
  readonly #seed: number;
  readonly #demands: boolean;
  readonly #clock = new VirtualClock();
  readonly #engine: EnginePort;
  readonly #fleet: Fleet;
  readonly #ledger: Ledger;
  readonly #tally: Tally;
  readonly #clients: Clients;
  #settlements: [SimulatedWork, WorkOutcome][] = [];
  #probes: Probe[] = [];
  #pollAt: Instant = 0;
  #steps = 0;
  #drained = false;
  #nextLook: Instant = 0;

  constructor({ plan, seed, engine = realEngine, demands = 'all' }: WorldOptions) {
    this.#plan = plan;
    this.#seed = seed;
    this.#demands = demands === 'all';
    this.#ledger = new Ledger(plan, { seed, isPunctual: this.#demands });
    this.#tally = new Tally(plan.measured ?? { fromMs: 0, untilMs: plan.durationMs });
    this.#engine = engine(this, { plan, random: randomStream(seed, 'engine') });
    this.#fleet = new Fleet(plan.rungs, { clock: this.#clock, events: this.#fleetEvents(), seed });
    this.#clients = new Clients(plan, {
      clock: this.#clock,
      server: { submit: (work) => this.#submit(work), cancel: (work) => this.#cancel(work) },
      tally: this.#tally,
      seed,
    });
  }

  run(): WorldResult {
    this.#fleet.start();
    this.#clients.start();
    for (const fault of this.#plan.faults) this.#planFault(fault);
    this.#runUntil(this.#plan.durationMs, () => false);
    const last = this.#engine.state(this.#clock.now);
    this.#runUntil(
      this.#plan.durationMs + AFTERMATH_MS,
      () => this.#ledger.open === 0 && this.#clients.waiting === 0,
    );
    this.#end();
    const changes = last?.changes ?? [];
    this.#ledger.ladder(changes);
    const { calmFromMs } = this.#plan;
    return {
      plan: this.#plan,
      seed: this.#seed,
      tally: this.#tally,
      steps: this.#steps,
      capacityPerSecond: capacityOf(this.#plan),
      recoveryMs: calmFromMs === undefined ? undefined : this.#tally.recoveryMs(calmFromMs),
      ladderChanges: changes,
      checked: this.#ledger.checked,
    };
  }

  // EngineDriver

  dispatch(batch: SimulatedBatch): void {
    this.#ledger.dispatched(batch, this.#fleet.find(batch.runner));
    this.#fleet.run(batch);
  }

  settle(work: SimulatedWork, outcome: WorkOutcome): void {
    this.#ledger.settled(work, outcome);
    this.#settlements.push([work, outcome]);
  }

  drained(_version: string): void {
    this.#ledger.check('one-outcome', !this.#drained, () => 'the version drained twice');
    this.#drained = true;
  }

  probe(want: Probe): void {
    this.#probes.push(want);
  }

  // Steps

  #runUntil(until: Instant, isDone: () => boolean): void {
    const mostSteps = this.#steps + (until - this.#clock.now) * MAX_STEPS_PER_MS;
    while (!isDone()) {
      const next = Math.min(this.#clock.next, Math.max(this.#pollAt, this.#clock.now));
      if (next > until) {
        this.#setNow(until);
        return;
      }
      this.#setNow(next);
      this.#step();
      this.#steps += 1;
      if (this.#steps > mostSteps)
        throw new Error(`Cannot go on: the world is stuck at ${this.#clock.now} ms`);
    }
  }

  #setNow(now: Instant): void {
    this.#ledger.now = now;
    this.#clock.moveTo(now);
  }

  #step(): void {
    const { now } = this.#clock;
    this.#tell();
    for (const probe of this.#probes.splice(0)) this.#submitProbe(probe);
    const next = this.#engine.poll(now);
    this.#pollAt = next > now ? next : now + TURN_MS;
    if (this.#probes.length > 0) this.#pollAt = now + TURN_MS;
    this.#tell();
    this.#ledger.step(this.#engine.state(now), (rung) => this.#fleet.batchesOn(rung));
    if (now < this.#nextLook) return;
    this.#nextLook = now + DEADLINES_LOOKED_AT_EVERY_MS;
    this.#ledger.deadlines();
  }

  /** As a real driver does: after the engine's own call has returned. */
  #tell(): void {
    while (this.#settlements.length > 0) {
      const settlements = this.#settlements;
      this.#settlements = [];
      for (const [work, outcome] of settlements) this.#clients.settled(work, outcome);
    }
  }

  #happened(): void {
    this.#pollAt = Math.min(this.#pollAt, this.#clock.now);
  }

  // What clients do

  #submit(work: SimulatedWork): void {
    const { now } = this.#clock;
    this.#ledger.submitted(work);
    const refusedBefore = this.#settlements.length;
    this.#engine.submit(work, now);
    this.#happened();
    const [, outcome] = this.#settlements[refusedBefore] ?? [];
    if (outcome?.kind === 'failed' && outcome.error.code === 'OVERLOADED') this.#checkRefusal(work);
  }

  /** Only where one rung serves, since shares are drawn anew for each question. */
  #checkRefusal(work: SimulatedWork): void {
    const { lane, deadlineTold } = work.payload;
    if (lane !== 'critical' || !deadlineTold || this.#plan.rungs.length > 1 || !this.#demands) return;
    if (this.#ledger.hasPromisedLater(work.payload)) return;
    const wouldTake = this.#engine.wouldTake(work, 'default', this.#clock.now);
    this.#ledger.check(
      'critical-first',
      wouldTake !== true,
      () => `request ${work.payload.identity} refused`,
    );
  }

  #submitProbe(probe: Probe): void {
    const work = this.#clients.probe(PROBE_TIMEOUT_MS);
    this.#ledger.submitted(work);
    this.#engine.submitProbe(work, probe, this.#clock.now);
  }

  #cancel(work: SimulatedWork): void {
    if (!this.#ledger.isOpen(work.payload)) return;
    this.#ledger.cancelling(work.payload, () => this.#engine.cancel(work, this.#clock.now));
    this.#happened();
  }

  // What runners do

  #fleetEvents(): FleetEvents {
    return {
      ready: (place: RunnerPlace, profile: CostProfile) => {
        this.#engine.runnerReady(place, profile, this.#clock.now);
        this.#happened();
      },
      retiring: (place: RunnerPlace) => {
        this.#engine.runnerRetiring(place, this.#clock.now);
        this.#happened();
      },
      lost: (place: RunnerPlace, loss: RunnerLoss, batches: readonly SimulatedBatch[]) => {
        this.#ledger.lost(batches, loss);
        this.#engine.runnerLost(place, loss, this.#clock.now);
        this.#happened();
      },
      reported: (place: RunnerPlace, batch: SimulatedBatch, report: BatchReport) => {
        this.#ledger.reported(batch);
        this.#engine.batchReported(place, batch.id, report, this.#clock.now);
        this.#happened();
      },
      faulted: (rung: number, error: GimbalError) => {
        this.#engine.faulted({ version: VERSION, rung }, error, this.#clock.now);
        this.#happened();
      },
    };
  }

  #planFault(fault: Fault): void {
    this.#clock.at(fault.atMs, () => {
      this.#tally.mark(this.#clock.now, fault.kind);
      this.#strike(fault);
      const { everyMs } = fault;
      if (everyMs !== undefined && this.#clock.now + everyMs < this.#plan.durationMs) {
        this.#planFault({ ...fault, atMs: this.#clock.now + everyMs });
      }
    });
  }

  #strike(fault: Fault): void {
    const rung = fault.rung ?? 0;
    switch (fault.kind) {
      case 'kill':
        this.#fleet.kill(rung);
        break;
      case 'hang':
        this.#fleet.hang(rung);
        break;
      case 'slow':
        this.#fleet.slow(rung, fault);
        break;
      case 'device-loss':
        this.#fleet.loseDevice(rung, fault.forMs);
        break;
      case 'memory-pressure':
        this.#fleet.pressMemory(rung, fault);
        break;
    }
  }

  // The end

  #end(): void {
    this.#ledger.deadlines();
    const last = this.#engine.state(this.#clock.now);
    this.#engine.removeVersion(this.#clock.now);
    this.#fleet.stop();
    this.#engine.poll(this.#clock.now);
    this.#tell();
    const batches = this.#plan.rungs.reduce((sum, _, rung) => sum + this.#fleet.batchesOn(rung), 0);
    if (this.#demands) this.#ledger.end(last, batches);
    if (last) this.#ledger.check('nothing-left', this.#drained, () => 'a version that has not drained');
    for (const { name, retries, limit } of this.#clients.budgets()) {
      this.#ledger.check(
        'retry-budget',
        retries <= limit,
        () => `${retries} retries by ${name}, ${limit} allowed`,
      );
    }
    if (!this.#demands) return;
    for (const { name, isModest } of this.#plan.groups) {
      const { asked, good } = this.#tally.group(name);
      if (!isModest || asked < MODEST_LEAST_REQUESTS) continue;
      const isServed = good >= asked * MODEST_SERVED_RATIO;
      this.#ledger.check('modest-served', isServed, () => `${good} of ${asked} requests of ${name}`);
    }
  }
}
