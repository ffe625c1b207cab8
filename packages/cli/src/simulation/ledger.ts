import {
  type Criticality,
  DEFAULT_VERDICT_OPTIONS,
  type Instant,
  LANES,
  type RunnerLoss,
  type WorkOutcome,
} from '@gimbal/core';
import type { Attempt, EngineState, SimulatedWork } from './engine-port.ts';
import { originOf, type SimulatedBatch, type SimulatedRunner } from './fleet.ts';
import type { WorldPlan } from './plan.ts';
import { type InvariantName, Violation } from './violation.ts';

/** A driver's timer may be so late: a turn of the event loop. */
const OUTCOME_BOUND_MS = 1;
/** A poison input is convicted by its second crash, the last of them alone. */
const MAX_CRASHES_OF_ONE = 2;
/**
 * Where a second batch waits in the runner, nothing there is alone, and a request that may be split can crash several
 * runners at once: then the bound is that on its runs.
 */
const MAX_CRASHES_IN_COMPANY = DEFAULT_VERDICT_OPTIONS.maxRuns;
/** Changes of the leading rung a minute, while the load is steady. */
const MAX_CHANGES_A_MINUTE = 6;
const ROUNDING = 1e-6;

/** What a world has seen of one attempt. */
interface Entry {
  readonly work: SimulatedWork;
  /** Rows that were started, by row: `running` rows are with a runner now. */
  readonly running: Set<number>;
  crashes: number;
}

/** The world's own books, and the invariants that are read from them. */
export class Ledger {
  readonly #plan: WorldPlan;
  readonly #seed: number;
  /** Whether deadlines are demanded. */
  readonly #isPunctual: boolean;
  readonly #open = new Map<number, Entry>();
  readonly #waiting: Readonly<Record<Criticality, Set<Entry>>> = {
    critical: new Set(),
    default: new Set(),
    sheddable: new Set(),
  };
  #openBytes = 0;
  #largestBytes = 0;
  #cancelling: number | undefined;
  #lastIdentity = 0;
  readonly #ended = new Set<number>();
  readonly #checked = new Map<InvariantName, number>();
  now: Instant = 0;

  constructor(plan: WorldPlan, { seed, isPunctual }: { seed: number; isPunctual: boolean }) {
    this.#plan = plan;
    this.#seed = seed;
    this.#isPunctual = isPunctual;
  }

  get open(): number {
    return this.#open.size;
  }

  /** How often each invariant was looked at. */
  get checked(): ReadonlyMap<InvariantName, number> {
    return this.#checked;
  }

  check(invariant: InvariantName, holds: boolean, detail: () => string): void {
    this.#checked.set(invariant, (this.#checked.get(invariant) ?? 0) + 1);
    if (holds) return;
    throw new Violation(invariant, detail(), { scenario: this.#plan.name, seed: this.#seed, at: this.now });
  }

  submitted(work: SimulatedWork): void {
    const { payload } = work;
    const entry = { work, running: new Set<number>(), crashes: 0 };
    this.#lastIdentity = Math.max(this.#lastIdentity, payload.identity);
    this.#open.set(payload.identity, entry);
    this.#waiting[payload.lane].add(entry);
    this.#openBytes += payload.bytes;
    this.#largestBytes = Math.max(this.#largestBytes, payload.bytes);
  }

  isOpen({ identity }: Attempt): boolean {
    return this.#open.has(identity);
  }

  /** Whether works of its lane wait that are due later: an urgent one may be refused so that those keep their time. */
  hasPromisedLater({ lane, deadline }: Attempt): boolean {
    for (const { work } of this.#waiting[lane]) if (work.payload.deadline > deadline) return true;
    return false;
  }

  /** Whatever happens inside is because the client has gone. */
  cancelling(attempt: Attempt, cancel: () => void): void {
    this.#cancelling = attempt.identity;
    cancel();
    this.#cancelling = undefined;
    this.check('cancel-at-once', !this.isOpen(attempt), () => `request ${attempt.identity} is still open`);
  }

  settled(work: SimulatedWork, outcome: WorkOutcome): void {
    const { identity, lane, bytes, deadline } = work.payload;
    const entry = this.#open.get(identity);
    this.check(
      'one-outcome',
      entry !== undefined && !this.#ended.has(identity),
      () => `${identity} ended again`,
    );
    this.#ended.add(identity);
    if (!entry) return;
    this.#open.delete(identity);
    this.#waiting[lane].delete(entry);
    this.#openBytes -= bytes;
    const isOwn = this.#cancelling === identity;
    this.check(
      'cancel-at-once',
      (outcome.kind === 'cancelled') === isOwn,
      () => `${identity} ${outcome.kind}`,
    );
    if (outcome.kind !== 'done') return;
    if (this.#isPunctual)
      this.check('answered-in-time', this.now < deadline + ROUNDING, () => `${identity}, due at ${deadline}`);
    this.#checkAnswer(work.payload, outcome);
  }

  #checkAnswer({ identity, rows }: Attempt, outcome: Extract<WorkOutcome, { kind: 'done' }>): void {
    let next = 0;
    for (const { report } of outcome.reports) {
      if (!report.ok) return;
      const origin = originOf(report);
      const isOwn = origin?.identity === identity && origin.firstRow === next;
      this.check('own-rows', isOwn, () => `rows of ${origin?.identity} in the answer to ${identity}`);
      next += origin?.rows ?? 0;
    }
    this.check('own-rows', next === rows, () => `${next} of ${rows} rows in the answer to ${identity}`);
  }

  dispatched(batch: SimulatedBatch, runner: SimulatedRunner | undefined): void {
    this.check('runner-serves', runner?.state === 'ready' && runner.place.rung === batch.rung, () => {
      return `batch ${batch.id} for ${batch.runner}, which is ${runner?.state ?? 'gone'}`;
    });
    const has = runner?.batches.length ?? 0;
    this.check('runner-free', has < this.#plan.batchesPerRunner, () => `${has} on ${batch.runner} already`);
    const [front] = batch.parts;
    if (front) this.#checkOrder(front.work, batch.rung);
    let rows = 0;
    for (const part of batch.parts) {
      rows += part.rows;
      const { identity, deadline, bucket } = part.work.payload;
      const entry = this.#open.get(identity);
      this.check('settled-not-run', entry !== undefined, () => `request ${identity} in batch ${batch.id}`);
      if (this.#isPunctual)
        this.check('late-not-run', deadline > this.now, () => `request ${identity}, due at ${deadline}`);
      const isSame = bucket === front?.work.payload.bucket;
      this.check('batch-whole', isSame, () => `buckets ${bucket} and ${front?.work.payload.bucket}`);
      if (!entry) continue;
      for (let row = part.firstRow; row < part.firstRow + part.rows; row += 1) {
        const isNew = row < part.work.rows && !entry.running.has(row);
        this.check('batch-whole', isNew, () => `row ${row} of ${identity} twice, or not its own`);
        entry.running.add(row);
      }
      this.#waiting[part.work.payload.lane].delete(entry);
    }
    this.check(
      'batch-whole',
      rows === batch.rows && rows > 0,
      () => `${rows} rows, said to be ${batch.rows}`,
    );
  }

  /** Works that have started, and wait for more, keep their turn; they are not looked at. */
  #checkOrder(front: SimulatedWork, rung: number): void {
    const { lane } = front.payload;
    for (const higher of LANES.slice(0, LANES.indexOf(lane))) {
      for (const { work } of this.#waiting[higher]) {
        const waits = work.status === 'queued' && work.rung === rung && work.probe === undefined;
        this.check(
          'lanes-in-order',
          !waits,
          () => `a ${lane} work started before ${work.payload.identity}, ${higher}`,
        );
      }
    }
  }

  reported(batch: SimulatedBatch): void {
    for (const { work, firstRow, rows } of batch.parts) this.#stopped(work.payload, firstRow, rows);
  }

  lost(batches: readonly SimulatedBatch[], loss: RunnerLoss): void {
    for (const batch of batches) {
      this.reported(batch);
      if (loss.cause !== 'crashed') continue;
      // Those behind the first one had not been started.
      if (batch !== batches[0]) continue;
      for (const { work } of batch.parts) {
        const entry = this.#open.get(work.payload.identity);
        if (!entry || !work.payload.isPoison) continue;
        entry.crashes += 1;
        const isInCompany = this.#plan.batchesPerRunner > 1 || work.splittable;
        const bound = isInCompany ? MAX_CRASHES_IN_COMPANY : MAX_CRASHES_OF_ONE;
        const { crashes } = entry;
        this.check('poison-bounded', crashes <= bound, () => `${crashes} by ${work.payload.identity}`);
      }
    }
  }

  #stopped({ identity }: Attempt, firstRow: number, rows: number): void {
    const entry = this.#open.get(identity);
    for (let row = firstRow; row < firstRow + rows; row += 1) entry?.running.delete(row);
  }

  /** After every step of the world. */
  step(state: EngineState | undefined, batchesOn: (rung: number) => number): void {
    if (this.#isPunctual) this.#checkDeadlines(this.#first());
    if (!state) return;
    const { open, openBytes, runningBatches, waitingWorks } = state;
    this.check('counters-match', open === this.open, () => `${open} open works, seen ${this.open}`);
    this.check(
      'counters-match',
      waitingWorks <= this.open,
      () => `${waitingWorks} wait, ${this.open} are open`,
    );
    const isSame = Math.abs(openBytes - this.#openBytes) < 1;
    this.check('counters-match', isSame, () => `${openBytes} bytes held, seen ${this.#openBytes}`);
    const bound = Math.max(this.#plan.maxQueuedBytes, this.#largestBytes);
    this.check('bytes-bounded', this.#openBytes <= bound, () => `${this.#openBytes} of ${bound} bytes`);
    for (const [rung, batches] of runningBatches.entries()) {
      const seen = batchesOn(rung);
      this.check('slots-match', batches === seen, () => `${batches} batches on rung ${rung}, seen ${seen}`);
    }
  }

  /** Attempts come in the order of time: the oldest ones tell first, and a few of them are enough at each step. */
  *#first(): Iterable<Entry> {
    let count = 0;
    for (const entry of this.#open.values()) {
      yield entry;
      count += 1;
      if (count === OLDEST_LOOKED_AT) return;
    }
  }

  /** All of them, now and then. */
  deadlines(): void {
    if (this.#isPunctual) this.#checkDeadlines(this.#open.values());
  }

  #checkDeadlines(entries: Iterable<Entry>): void {
    for (const { work } of entries) {
      const { identity, deadline } = work.payload;
      const isInTime = this.now <= deadline + OUTCOME_BOUND_MS;
      this.check('outcome-by-deadline', isInTime, () => `request ${identity} open, due at ${deadline}`);
    }
  }

  ladder(changes: EngineState['changes']): void {
    let rung = 0;
    let last: Instant = 0;
    for (const [index, { at, from, to }] of changes.entries()) {
      const isStep = from === rung && to !== from && to >= 0 && to < this.#plan.rungs.length && at >= last;
      this.check('ladder-legal', isStep, () => `${from} to ${to} at ${at}, after ${rung} at ${last}`);
      rung = to;
      last = at;
      const sixBefore = changes[index - MAX_CHANGES_A_MINUTE];
      const isSeldom = !this.#plan.isSteady || sixBefore === undefined || at - sixBefore.at > 60_000;
      this.check('ladder-legal', isSeldom, () => `more than ${MAX_CHANGES_A_MINUTE} changes within a minute`);
    }
  }

  end(state: EngineState | undefined, batches: number): void {
    this.check('nothing-left', this.open === 0, () => `${this.open} requests without an outcome`);
    this.check('nothing-left', batches === 0, () => `${batches} batches with runners`);
    if (!state) return;
    const { open, openBytes, waitingWorks } = state;
    const isEmpty = open === 0 && waitingWorks === 0 && Math.abs(openBytes) < 1;
    this.check('nothing-left', isEmpty, () => `${open} open, ${waitingWorks} waiting, ${openBytes} bytes`);
  }
}

const OLDEST_LOOKED_AT = 4;
