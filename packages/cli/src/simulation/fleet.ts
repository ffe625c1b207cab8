import {
  type Batch,
  type BatchPart,
  type BatchReport,
  type CostProfile,
  GimbalError,
  type Instant,
  NEVER,
  type PartReport,
  type Random,
  RestartBackoff,
  type RunnerExit,
  type RunnerLoss,
  type RunnerPlace,
} from '@gimbal/core';
import { type Attempt, VERSION } from './engine-port.ts';
import type { RungPlan } from './plan.ts';
import { chance, gaussian, pick, randomStream } from './random-stream.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** As the supervisor of the server does: a run that takes so many times its prediction is hung… */
const HANG_FACTOR = 10;
/** …but never one shorter than this. */
const HANG_FLOOR_MS = 1000;
/** A full swing of the slow drift of a runner's speed. */
const DRIFT_PERIOD_MS = 20_000;
/** A batch that crashes does so after this part of its time. */
const CRASH_AFTER_RATIO = 0.5;

export type SimulatedBatch = Batch<Attempt>;

/** What the supervisor tells of its runners. */
export interface FleetEvents {
  ready(place: RunnerPlace, profile: CostProfile): void;
  retiring(place: RunnerPlace): void;
  lost(place: RunnerPlace, loss: RunnerLoss, batches: readonly SimulatedBatch[]): void;
  reported(place: RunnerPlace, batch: SimulatedBatch, report: BatchReport): void;
  faulted(rung: number, error: GimbalError): void;
}

export interface SimulatedRunner {
  readonly place: RunnerPlace;
  readonly slot: Slot;
  state: 'loading' | 'ready' | 'retiring' | 'gone';
  /** In the order in which it runs them. */
  readonly batches: SimulatedBatch[];
  readySince: Instant;
  grownBytes: number;
  /** It has stopped answering. */
  hangs: boolean;
}

interface Slot {
  readonly rung: number;
  readonly plan: RungPlan;
  readonly backoff: RestartBackoff;
  runner: SimulatedRunner | undefined;
  /** What takes over from a runner that has grown too much. */
  replacement: SimulatedRunner | undefined;
}

/** The runners of all rungs and their supervisor: they take time, crash, hang, leak, and come back. */
export class Fleet {
  readonly #clock: VirtualClock;
  readonly #events: FleetEvents;
  readonly #random: Random;
  readonly #slots: Slot[];
  readonly #runners = new Map<string, SimulatedRunner>();
  readonly #slowFactors: number[];
  readonly #memoryRows: number[];
  readonly #deviceLost: boolean[];
  #lastId = 0;
  #stopped = false;

  constructor(
    rungs: readonly RungPlan[],
    { clock, events, seed }: { clock: VirtualClock; events: FleetEvents; seed: number },
  ) {
    this.#clock = clock;
    this.#events = events;
    this.#random = randomStream(seed, 'fleet');
    const restarts = randomStream(seed, 'restarts');
    this.#slots = rungs.flatMap((plan, rung) =>
      Array.from({ length: plan.runners }, () => ({
        rung,
        plan,
        backoff: new RestartBackoff(restarts),
        runner: undefined,
        replacement: undefined,
      })),
    );
    this.#slowFactors = rungs.map(() => 1);
    this.#memoryRows = rungs.map(() => NEVER);
    this.#deviceLost = rungs.map(() => false);
  }

  /** Those that exist now, by id. */
  find(runnerId: string): SimulatedRunner | undefined {
    return this.#runners.get(runnerId);
  }

  batchesOn(rung: number): number {
    let count = 0;
    for (const { place, batches } of this.#runners.values()) if (place.rung === rung) count += batches.length;
    return count;
  }

  /** Loads all runners at once; the world begins when they are ready. */
  start(): void {
    for (const slot of this.#slots) {
      slot.runner = this.#spawn(slot);
      this.#becomeReady(slot.runner);
    }
  }

  /** No restarts any more; all runners end. */
  stop(): void {
    this.#stopped = true;
    for (const runner of [...this.#runners.values()]) {
      if (runner.state === 'loading') this.#forget(runner);
      else this.#lose(runner, STOPPED);
    }
  }

  run(batch: SimulatedBatch): void {
    const runner = this.#runners.get(batch.runner);
    if (!runner) return;
    runner.batches.push(batch);
    if (runner.batches.length === 1) this.#begin(runner, batch);
  }

  // Faults

  /** SIGKILL to one runner of the rung, if any takes work. */
  kill(rung: number): void {
    const runner = this.#anyServing(rung);
    if (runner) this.#end(runner, 'killed', KILLED);
  }

  hang(rung: number): void {
    const runner = this.#anyServing(rung);
    if (runner) runner.hangs = true;
  }

  slow(rung: number, { factor, forMs }: { factor: number; forMs: number }): void {
    this.#slowFactors[rung] = factor;
    this.#clock.after(forMs, () => {
      this.#slowFactors[rung] = 1;
    });
  }

  pressMemory(rung: number, { maxRows, forMs }: { maxRows: number; forMs: number }): void {
    this.#memoryRows[rung] = maxRows;
    this.#clock.after(forMs, () => {
      this.#memoryRows[rung] = NEVER;
    });
  }

  /** Every runner of the rung ends, and none can be loaded for a while. */
  loseDevice(rung: number, forMs: number): void {
    this.#deviceLost[rung] = true;
    this.#clock.after(forMs, () => {
      this.#deviceLost[rung] = false;
    });
    for (const runner of [...this.#runners.values()]) {
      if (runner.place.rung === rung && runner.state !== 'loading') this.#end(runner, 'crashed', CRASHED);
    }
  }

  // The life of a runner

  #spawn(slot: Slot): SimulatedRunner {
    this.#lastId += 1;
    const runner: SimulatedRunner = {
      place: { version: VERSION, rung: slot.rung, runnerId: `r${this.#lastId}` },
      slot,
      state: 'loading',
      batches: [],
      readySince: 0,
      grownBytes: 0,
      hangs: false,
    };
    this.#runners.set(runner.place.runnerId, runner);
    return runner;
  }

  #becomeReady(runner: SimulatedRunner): void {
    if (runner.state !== 'loading' || this.#stopped) return;
    runner.state = 'ready';
    runner.readySince = this.#clock.now;
    this.#events.ready(runner.place, runner.slot.plan.profile);
  }

  #begin(runner: SimulatedRunner, batch: SimulatedBatch): void {
    const { plan } = runner.slot;
    const tookMs = this.#serviceMs(runner, batch);
    if (chance(this.#random, plan.hangRatio)) runner.hangs = true;
    const isRunning = (): boolean => runner.state !== 'gone' && runner.batches[0] === batch;
    const limitMs = Math.max(HANG_FACTOR * batch.predictedMs, HANG_FLOOR_MS);
    this.#clock.after(limitMs, () => {
      if (isRunning()) this.#end(runner, 'hung', HUNG);
    });
    if (batch.parts.some(({ work }) => work.payload.isPoison) || chance(this.#random, plan.crashRatio)) {
      this.#clock.after(tookMs * CRASH_AFTER_RATIO, () => {
        if (isRunning()) this.#end(runner, 'crashed', CRASHED);
      });
      return;
    }
    this.#clock.after(tookMs, () => {
      if (isRunning() && !runner.hangs) this.#finish(runner, batch, tookMs);
    });
  }

  #serviceMs({ place, slot }: SimulatedRunner, batch: SimulatedBatch): number {
    const { profile, noiseRatio, driftRatio } = slot.plan;
    let costRows = 0;
    for (const { rows, work } of batch.parts) costRows += rows * work.payload.costFactor;
    const drift = 1 + driftRatio * Math.sin((2 * Math.PI * this.#clock.now) / DRIFT_PERIOD_MS);
    const noise = noiseRatio > 0 ? Math.exp(noiseRatio * gaussian(this.#random)) : 1;
    const slow = this.#slowFactors[place.rung] ?? 1;
    return (profile.fixedMs + profile.perRowMs * costRows) * drift * noise * slow;
  }

  #finish(runner: SimulatedRunner, batch: SimulatedBatch, tookMs: number): void {
    runner.batches.shift();
    runner.grownBytes += runner.slot.plan.leakBytes;
    const outOfMemory = batch.rows > (this.#memoryRows[runner.place.rung] ?? NEVER);
    this.#events.reported(runner.place, batch, {
      parts: batch.parts.map((part) => (outOfMemory ? OUT_OF_MEMORY : answerOf(part))),
      preprocessMs: 0,
      inferMs: tookMs,
      postprocessMs: 0,
      release: () => {},
    });
    const next = runner.batches[0];
    if (next && runner.state !== 'gone') this.#begin(runner, next);
    else if (runner.state === 'retiring') this.#lose(runner, STOPPED);
    else this.#considerRecycling(runner);
  }

  /** A replacement is ready before the grown runner retires: nobody notices. */
  #considerRecycling(runner: SimulatedRunner): void {
    const { slot } = runner;
    if (runner.grownBytes < slot.plan.recycleGrowthBytes || slot.replacement || runner.state !== 'ready')
      return;
    const replacement = this.#spawn(slot);
    slot.replacement = replacement;
    this.#clock.after(slot.plan.loadMs, () => {
      if (slot.replacement !== replacement || this.#stopped) return;
      slot.replacement = undefined;
      const old = slot.runner;
      slot.runner = replacement;
      this.#becomeReady(replacement);
      if (old?.state !== 'ready') return;
      old.state = 'retiring';
      this.#events.retiring(old.place);
      if (old.batches.length === 0) this.#lose(old, STOPPED);
    });
  }

  /** An end that nobody asked for: the slot is filled again when the back-off says so. */
  #end(runner: SimulatedRunner, cause: RunnerExit['cause'], loss: RunnerLoss): void {
    const { slot } = runner;
    const wasCurrent = slot.runner === runner;
    const readyMs = runner.state === 'loading' ? 0 : this.#clock.now - runner.readySince;
    this.#lose(runner, loss);
    if (!wasCurrent || this.#stopped) return;
    slot.runner = undefined;
    const { state, delayMs } = slot.backoff.next({ cause, readyMs }, this.#clock.now);
    this.#clock.after(delayMs, () => this.#restart(slot));
    if (state === 'faulted' && !this.#serves(slot.rung)) this.#events.faulted(slot.rung, crashLoop());
  }

  #restart(slot: Slot): void {
    if (this.#stopped || slot.runner) return;
    const runner = this.#spawn(slot);
    slot.runner = runner;
    this.#clock.after(slot.plan.loadMs, () => {
      if (runner.state !== 'loading') return;
      if (this.#deviceLost[slot.rung]) this.#end(runner, 'load-failed', CRASHED);
      else this.#becomeReady(runner);
    });
  }

  #lose(runner: SimulatedRunner, loss: RunnerLoss): void {
    if (runner.state === 'gone') return;
    const wasLoading = runner.state === 'loading';
    const batches = runner.batches.splice(0);
    this.#forget(runner);
    if (!wasLoading) this.#events.lost(runner.place, loss, batches);
  }

  #forget(runner: SimulatedRunner): void {
    runner.state = 'gone';
    this.#runners.delete(runner.place.runnerId);
  }

  #serves(rung: number): boolean {
    return this.#anyServing(rung) !== undefined;
  }

  #anyServing(rung: number): SimulatedRunner | undefined {
    const serving = [...this.#runners.values()].filter(
      ({ place, state }) => place.rung === rung && state === 'ready',
    );
    return serving.length === 0 ? undefined : pick(this.#random, serving);
  }
}

/** What an answer was made from. */
export interface AnswerOrigin {
  readonly identity: number;
  readonly firstRow: number;
  readonly rows: number;
}

/** One output for the part, whose shape says what it was made from. */
function answerOf({ work, firstRow, rows }: BatchPart<Attempt>): PartReport {
  const outputs = [{ bytes: NO_BYTES, shape: [work.payload.identity, firstRow, rows] }];
  return { ok: true, output: { kind: 'tensors', rows, outputs } };
}

export function originOf(report: PartReport): AnswerOrigin | undefined {
  if (!report.ok || report.output.kind !== 'tensors') return undefined;
  const [identity, firstRow, rows] = report.output.outputs[0]?.shape ?? [];
  return identity === undefined || firstRow === undefined || rows === undefined
    ? undefined
    : { identity, firstRow, rows };
}

const NO_BYTES = new Uint8Array(0);

const OUT_OF_MEMORY: PartReport = {
  ok: false,
  code: 'OUT_OF_MEMORY',
  message: 'Cannot run the batch: the device has no memory left',
  fields: [],
};

const CRASHED: RunnerLoss = {
  error: new GimbalError('RUNNER_CRASHED', 'Cannot answer: the model process crashed'),
  cause: 'crashed',
};

const KILLED: RunnerLoss = { ...CRASHED, cause: 'killed' };

const HUNG: RunnerLoss = {
  error: new GimbalError('RUNNER_TIMED_OUT', 'Cannot answer: the model ran too long'),
  cause: 'hung',
};

const STOPPED: RunnerLoss = {
  error: new GimbalError('MODEL_UNAVAILABLE', 'Cannot run the model: the runner was stopped'),
  cause: 'stopped',
};

function crashLoop(): GimbalError {
  return new GimbalError('MODEL_UNAVAILABLE', 'Cannot run the model: its process crashes in a loop');
}
