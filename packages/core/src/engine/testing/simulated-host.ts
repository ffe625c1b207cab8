import { type Instant, NEVER } from '../../base/time.ts';
import type { Criticality } from '../../contract/inference-port.ts';
import type { CostProfile } from '../../contract/model.ts';
import type { BatchReport, PartReport } from '../../contract/runner-port.ts';
import { GimbalError } from '../../errors/gimbal-error.ts';
import type { Batch, BatchPart } from '../batch.ts';
import { Engine } from '../engine.ts';
import type { EngineDriver, ProbeWanted, RunnerLoss, RunnerPlace } from '../engine-driver.ts';
import type { WorkOutcome } from '../outcome.ts';
import { type QualityDemand, Work } from '../work.ts';

/** A host's event loop comes round this often, in ms, while the engine asks for the next turn. */
const TURN_MS = 0.05;
/** A simulation that takes this many steps without getting anywhere is stuck. */
const MAX_STEPS = 1_000_000;

/** What a simulated work is for: it knows itself, so that an answer can be told from another's. */
export interface SimulatedPayload {
  readonly identity: number;
}

export interface SimulatedWorkOptions {
  readonly rows?: number;
  readonly bucket?: string;
  readonly splittable?: boolean;
  readonly lane?: Criticality;
  /** From now. Default: none. */
  readonly timeoutMs?: number;
  readonly bytes?: number;
  readonly version?: string;
  readonly tenant?: string;
  readonly costClass?: number;
  readonly deadlineTold?: boolean;
  readonly repeatable?: boolean;
  readonly quality?: QualityDemand;
}

interface SimulatedRunner {
  readonly place: RunnerPlace;
  readonly profile: CostProfile;
  /** In the order in which it runs them. */
  readonly batches: {
    readonly batch: Batch<SimulatedPayload>;
    readonly startsAt: Instant;
    endsAt: Instant;
  }[];
}

/**
 * A host on a virtual clock: it drives a real engine, and its runners take as long as their profile says and answer each
 * row with the identity of the work and the row that it came from. Nothing happens until `advance` or `finish`.
 */
export class SimulatedHost implements EngineDriver<SimulatedPayload> {
  readonly engine = new Engine<SimulatedPayload>(this);
  now: Instant = 0;
  /** Every work that was submitted, by identity. */
  readonly works = new Map<number, Work<SimulatedPayload>>();
  readonly outcomes = new Map<number, WorkOutcome>();
  /** When each outcome was told. */
  readonly settledAt = new Map<number, Instant>();
  /** Every batch that was dispatched, in order. */
  readonly batches: Batch<SimulatedPayload>[] = [];
  readonly drainedVersions: string[] = [];
  /** Times that `poll` was called. */
  polls = 0;
  /** Golden inputs that breakers asked for. */
  probes = 0;
  readonly #probes: ProbeWanted[] = [];
  /** Told of every outcome; may submit at once, as an eager client would. */
  onSettled: ((work: Work<SimulatedPayload>, outcome: WorkOutcome) => void) | undefined = undefined;
  /** Replaces the report of a part; undefined leaves the true one. */
  onPart: ((part: BatchPart<SimulatedPayload>) => PartReport | undefined) | undefined = undefined;
  readonly #runners = new Map<string, SimulatedRunner>();
  #settlements: [Work<SimulatedPayload>, WorkOutcome][] = [];
  #pollAt: Instant = NEVER;

  // What tests do.

  submit(options: SimulatedWorkOptions = {}): Work<SimulatedPayload> {
    const { tenant = '', costClass = 0, deadlineTold = true, repeatable = true, quality = 'any' } = options;
    const work = new Work<SimulatedPayload>({
      tenant,
      costClass,
      deadlineTold,
      repeatable,
      quality,
      version: options.version ?? 'v',
      rows: options.rows ?? 1,
      bucket: options.bucket ?? 'b',
      splittable: options.splittable ?? false,
      lane: options.lane ?? 'default',
      enqueuedAt: this.now,
      deadline: this.now + (options.timeoutMs ?? NEVER),
      bytes: options.bytes ?? 0,
      payload: { identity: this.works.size + 1 },
    });
    this.works.set(work.payload.identity, work);
    this.engine.submit(work, this.now);
    this.#somethingHappened();
    return work;
  }

  cancel(work: Work<SimulatedPayload>): void {
    this.engine.cancel(work);
    this.#somethingHappened();
  }

  runnerReady(place: RunnerPlace, profile: CostProfile): void {
    this.#runners.set(keyOf(place), { place, profile, batches: [] });
    this.engine.runnerReady(place, profile, this.now);
    this.#somethingHappened();
  }

  runnerRetiring(place: RunnerPlace): void {
    this.engine.runnerRetiring(place, this.now);
    this.#somethingHappened();
  }

  runnerLost(place: RunnerPlace, loss: RunnerLoss = { error: crashed(), cause: 'crashed' }): void {
    this.#runners.delete(keyOf(place));
    this.engine.runnerLost(place, loss, this.now);
    this.#somethingHappened();
  }

  faulted(place: { version: string; rung: number }, error: GimbalError | undefined): void {
    this.engine.faulted(place, error, this.now);
    this.#somethingHappened();
  }

  /** Makes a runner's current run take so much longer. */
  stall(place: RunnerPlace, byMs: number): void {
    for (const running of this.#runners.get(keyOf(place))?.batches ?? []) running.endsAt += byMs;
  }

  runningOn(place: RunnerPlace): number {
    return this.#runners.get(keyOf(place))?.batches.length ?? 0;
  }

  outcomeOf(work: Work<SimulatedPayload>): WorkOutcome | undefined {
    return this.outcomes.get(work.payload.identity);
  }

  /** Lets time pass. Only as long as something is due does anything happen. */
  advance(byMs: number): void {
    const until = this.now + byMs;
    for (let step = 0; step < MAX_STEPS; step += 1) {
      const next = Math.max(this.now, Math.min(this.#pollAt, this.#nextEnd()));
      if (next > until) {
        this.now = until;
        return;
      }
      this.now = next;
      this.#turn();
    }
    throw new Error(`Cannot advance by ${byMs} ms: the simulation is stuck at ${this.now} ms`);
  }

  /** Lets time pass until every work has its outcome and every runner is idle, at most so long. */
  finish(withinMs = 60_000): void {
    const until = this.now + withinMs;
    while (this.now < until && !this.#quiet()) this.advance(Math.min(1, until - this.now));
  }

  // EngineDriver

  dispatch(batch: Batch<SimulatedPayload>): void {
    const place = { version: batch.version, rung: batch.rung, runnerId: batch.runner };
    const runner = this.#runners.get(keyOf(place));
    if (!runner) throw new Error(`Cannot run a batch: runner ${batch.runner} does not exist`);
    const startsAt = Math.max(this.now, runner.batches.at(-1)?.endsAt ?? 0);
    const { fixedMs, perRowMs } = runner.profile;
    runner.batches.push({ batch, startsAt, endsAt: startsAt + fixedMs + perRowMs * batch.units });
    this.batches.push(batch);
  }

  settle(work: Work<SimulatedPayload>, outcome: WorkOutcome): void {
    const { identity } = work.payload;
    if (identity < 0) return;
    if (this.outcomes.has(identity)) throw new Error(`Cannot settle work ${identity}: it is settled already`);
    this.outcomes.set(identity, outcome);
    this.settledAt.set(identity, this.now);
    this.#settlements.push([work, outcome]);
  }

  /** A golden input, at the next turn. */
  probe(want: ProbeWanted): void {
    this.probes += 1;
    this.#probes.push(want);
  }

  drained(version: string): void {
    this.drainedVersions.push(version);
  }

  #somethingHappened(): void {
    this.#pollAt = Math.min(this.#pollAt, this.now);
  }

  #nextEnd(): Instant {
    let next = NEVER;
    for (const { batches } of this.#runners.values()) next = Math.min(next, batches[0]?.endsAt ?? NEVER);
    return next;
  }

  #turn(): void {
    for (const runner of this.#runners.values()) {
      const first = runner.batches[0];
      if (!first || first.endsAt > this.now) continue;
      runner.batches.shift();
      const report = this.#report(first.batch, first.endsAt - first.startsAt);
      this.engine.batchReported(runner.place, first.batch.id, report, this.now);
    }
    this.#tell();
    this.#runProbes();
    this.polls += 1;
    const next = this.engine.poll(this.now);
    this.#pollAt = next > this.now ? next : this.now + TURN_MS;
    this.#tell();
  }

  #runProbes(): void {
    for (const want of this.#probes.splice(0)) {
      const work = new Work<SimulatedPayload>({
        version: want.version,
        rows: 1,
        bucket: 'probe',
        splittable: false,
        lane: 'default',
        enqueuedAt: this.now,
        deadline: this.now + 4000,
        payload: { identity: -this.probes },
      });
      this.engine.submitProbe(work, want, this.now);
    }
  }

  /** As a real driver does: after the engine's own call has returned. */
  #tell(): void {
    while (this.#settlements.length > 0) {
      const settlements = this.#settlements;
      this.#settlements = [];
      for (const [work, outcome] of settlements) this.onSettled?.(work, outcome);
    }
  }

  #report(batch: Batch<SimulatedPayload>, inferMs: number): BatchReport {
    return {
      parts: batch.parts.map((part) => this.onPart?.(part) ?? echo(part)),
      preprocessMs: 0,
      inferMs,
      postprocessMs: 0,
      release: () => {},
    };
  }

  #quiet(): boolean {
    if (this.outcomes.size < this.works.size) return false;
    for (const { batches } of this.#runners.values()) if (batches.length > 0) return false;
    return true;
  }
}

/** Rows of an answer, as the identity of the work and the number of the row that each was made from. */
export function rowsOf(report: PartReport): { identity: number; row: number }[] {
  if (!report.ok || report.output.kind !== 'tensors') return [];
  return report.output.outputs.map(({ shape: [identity = -1, row = -1] }) => ({ identity, row }));
}

/** One output for each row, named by its shape: the identity of the work and the row. */
function echo({ work, firstRow, rows }: BatchPart<SimulatedPayload>): PartReport {
  const outputs = Array.from({ length: rows }, (_, row) => ({
    bytes: new Uint8Array(0),
    shape: [work.payload.identity, firstRow + row],
  }));
  return { ok: true, output: { kind: 'tensors', rows, outputs } };
}

function keyOf({ version, rung, runnerId }: RunnerPlace): string {
  return `${version} ${rung} ${runnerId}`;
}

function crashed(): GimbalError {
  return new GimbalError('RUNNER_CRASHED', 'Cannot answer: the model process crashed');
}
