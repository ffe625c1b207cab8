import { type Instant, NEVER } from '../base/time.ts';
import type { Criticality } from '../contract/inference-port.ts';
import type { CostProfile } from '../contract/model.ts';
import type { BatchReport } from '../contract/runner-port.ts';
import type { Batch, BatchPart } from './batch.ts';
import { type BatchingDecision, decideBatch } from './batching.ts';
import { CostModel } from './cost-model.ts';
import type { PoolView } from './pool-view.ts';
import { LANES, WorkQueue } from './queue.ts';
import { type Runner, RunnerSet } from './runner-set.ts';
import type { Work } from './work.ts';

/** Weight of the newest gap between arrivals. */
const GAP_LEARNING_RATIO = 0.1;
/** A work that can hardly be done in time is tried no more often than this. */
const TRIAL_EVERY_MS = 1000;
/**
 * Batches that one runner may have. 1: it runs one thing at a time, and what waits in the queue can still be batched
 * better, expired and cancelled. More hides the doorbell's latency where a run is about as short.
 */
const BATCHES_PER_RUNNER = 1;

export interface PoolOptions {
  readonly version: string;
  readonly rung: number;
  /** Most rows in one run that configuration allows; the profile may lower it. */
  readonly maxRows: number | 'auto';
  readonly maxDelayMs: number;
  readonly preferredSizes: readonly number[];
  /** Default: 1. */
  readonly batchesPerRunner?: number;
}

/** What a pool needs from the engine while it forms a batch. */
export interface BatchHooks<Payload> {
  nextBatchId(): number;
  /** The work can't be done by its deadline any more: the engine takes it out of the queue and settles it. */
  tooLate(work: Work<Payload>): void;
}

/** The runners of one variant and the works that wait for them. */
export class Pool<Payload> {
  readonly options: PoolOptions;
  readonly queue = new WorkQueue<Payload>();
  readonly cost = new CostModel();
  readonly #runners: RunnerSet<Payload>;
  #maxRows = 1;
  #gapMs = NEVER;
  #lastArrival: Instant = -NEVER;
  #idleSince: Instant = NEVER;
  #lingerUntil: Instant = NEVER;
  #nextTrialAt: Instant = -NEVER;

  constructor(options: PoolOptions) {
    this.options = options;
    this.#runners = new RunnerSet(options.batchesPerRunner ?? BATCHES_PER_RUNNER);
  }

  get maxRows(): number {
    return this.#maxRows;
  }

  /** Runners that take work. */
  get serving(): number {
    return this.#runners.serving;
  }

  /** Whether a runner has ever been ready: before, there is nothing worth waiting for. */
  get proven(): boolean {
    return this.#runners.everReady;
  }

  get runningRows(): number {
    return this.#runners.rows;
  }

  /** Nothing waits here and no runner has anything of it. */
  get empty(): boolean {
    return this.queue.works === 0 && this.#runners.batches === 0;
  }

  /** Works that wait here can't be served by this pool now. */
  get stranded(): boolean {
    return this.queue.works > 0 && this.serving === 0;
  }

  /** Whether a new work would start at once. */
  get idle(): boolean {
    return this.queue.works === 0 && this.#runners.hasIdle;
  }

  /**
   * Whether a work is worth starting beside an idle runner: one that can't be done in time is not, but for one in a while,
   * from which a model that was measured too slow learns.
   */
  takesBesideIdle(ask: { readonly rows: number; readonly deadline: Instant }, now: Instant): boolean {
    const leastMs = this.cost.leastMs(Math.min(ask.rows, this.#maxRows));
    return now + leastMs < ask.deadline || now >= this.#nextTrialAt;
  }

  /** After `next` gave nothing: when it wants to be asked again though nothing happens; NEVER for not at all. */
  get lingerUntil(): Instant {
    return this.#lingerUntil;
  }

  runnerReady(id: string, profile: CostProfile): void {
    this.#maxRows = rowLimit(this.options.maxRows, profile);
    this.queue.maxRows = this.#maxRows;
    this.cost.seed(profile);
    this.#runners.add(id);
  }

  runnerRetiring(id: string): void {
    this.#runners.retire(id);
  }

  /** The runner is gone; returns the batches that it had. */
  runnerLost(id: string): readonly Batch<Payload>[] {
    return this.#runners.remove(id);
  }

  has(runnerId: string): boolean {
    return this.#runners.find(runnerId) !== undefined;
  }

  enqueue(work: Work<Payload>, now: Instant): void {
    if (now + this.cost.leastMs(1) >= work.deadline) this.#nextTrialAt = now + TRIAL_EVERY_MS;
    if (this.#lastArrival > -NEVER) {
      const gapMs = (now - this.#lastArrival) / Math.max(1, work.rows);
      this.#gapMs = this.#gapMs === NEVER ? gapMs : this.#gapMs + GAP_LEARNING_RATIO * (gapMs - this.#gapMs);
    }
    this.#lastArrival = now;
    this.join(work);
  }

  /** Queues a work that arrived elsewhere, earlier. */
  join(work: Work<Payload>): void {
    work.rung = this.options.rung;
    this.queue.push(work);
  }

  /**
   * When a new work would be done, if it joined the queue now: what runs and what waits before it, shared by the
   * runners, then its own runs. While all runners are away, as if one came back at once.
   */
  predictedFinish(work: { readonly rows: number; readonly lane: Criticality }, now: Instant): Instant {
    const runners = Math.max(1, this.serving);
    const ownRuns = Math.max(1, Math.ceil(work.rows / this.#maxRows));
    const ownMs = ownRuns * this.cost.fixedMs + work.rows * this.cost.perRowMs;
    const waitMs = this.predictedWaitMs(work.lane, now);
    return now + (waitMs + ownMs / Math.min(runners, ownRuns)) * (1 + this.cost.deviationRatio);
  }

  /** How long a new work of the lane would wait for a runner. */
  predictedWaitMs(lane: Criticality, now: Instant): number {
    const { queue, cost } = this;
    const before = queue.rows > 0 ? queue.rowsBefore(lane) / queue.rows : 0;
    const queuedMs = (queue.runs * cost.fixedMs + queue.rows * cost.perRowMs) * before;
    return (this.#runners.remainingMs(now) + queuedMs) / Math.max(1, this.serving);
  }

  /** The next batch to start now, or nothing: see `lingerUntil`. */
  next(now: Instant, hooks: BatchHooks<Payload>): Batch<Payload> | undefined {
    this.#lingerUntil = NEVER;
    const runner = this.queue.works > 0 ? this.#runners.choose(now) : undefined;
    const front = runner ? this.#front(now, hooks) : undefined;
    if (!runner || !front) {
      this.#idleSince = NEVER;
      return undefined;
    }
    if (this.#idleSince === NEVER) this.#idleSince = now;
    const decision = this.#decide(runner, front, now);
    if (decision.kind === 'linger') {
      this.#lingerUntil = decision.until;
      return undefined;
    }
    return this.#start(runner, this.#fill({ front, rows: decision.rows }, now, hooks), {
      id: hooks.nextBatchId(),
      now,
    });
  }

  /** A batch came back; undefined when the runner no longer has it. */
  reported(runnerId: string, batchId: number, report: BatchReport, now: Instant): Batch<Payload> | undefined {
    const runner = this.#runners.find(runnerId);
    const batch = runner && this.#runners.finish(runner, batchId);
    if (!runner || !batch) return undefined;
    const startedAt = Math.max(batch.startedAt, runner.freeSince);
    runner.freeSince = now;
    if (report.parts.some((part) => part.ok)) this.cost.observed(batch.rows, now - startedAt);
    return batch;
  }

  view(now: Instant): PoolView {
    return {
      rung: this.options.rung,
      lanes: LANES.map((lane) => ({
        lane,
        works: this.queue.depth(lane),
        oldestAgeMs: Math.max(0, now - (this.queue.oldest(lane) ?? now)),
        predictedWaitMs: this.predictedWaitMs(lane, now),
      })),
      queuedRows: this.queue.rows,
      queuedBytes: this.queue.bytes,
      runningRows: this.runningRows,
      runningBatches: this.#runners.batches,
      serving: this.serving,
      maxRows: this.#maxRows,
    };
  }

  /**
   * The work that the next batch is made around. One that can't make its deadline any more is dropped, never run: a
   * margin of one batch keeps an overloaded queue from answering everything late. A work that is alone is run as long as
   * there is time at all, so that a cost model that went wrong can learn again.
   */
  #front(now: Instant, hooks: BatchHooks<Payload>): Work<Payload> | undefined {
    for (let work = this.queue.front(); work; work = this.queue.front()) {
      const rows = Math.min(this.queue.rowsIn(work.bucket), this.#maxRows);
      const limit = this.queue.works === 1 ? work.deadline : this.#latestStart(work, rows);
      if (now < limit) return work;
      hooks.tooLate(work);
    }
    return undefined;
  }

  /** By when a batch of so many rows must start for the work in it. */
  #latestStart(work: Work<Payload>, batchRows: number): Instant {
    const rows = work.splittable ? batchRows : Math.max(batchRows, work.waitingRows);
    return work.deadline - this.cost.predictedMs(rows);
  }

  #decide(runner: Runner<Payload>, front: Work<Payload>, now: Instant): BatchingDecision {
    const rows = Math.max(1, this.queue.rowsIn(front.bucket));
    if (runner.batches.length > 0) {
      // Rows gather beside a busy runner: only a full batch is worth sending ahead.
      return rows < this.#maxRows ? { kind: 'linger', until: NEVER } : { kind: 'go', rows: this.#maxRows };
    }
    return decideBatch(
      {
        rows,
        maxRows: this.#maxRows,
        preferredSizes: this.options.preferredSizes,
        maxDelayMs: this.options.maxDelayMs,
        fixedMs: this.cost.fixedMs,
        gapMs: this.#gapMs,
        lastArrival: this.#lastArrival,
        idleSince: this.#idleSince,
        latestStart: this.#latestStart(front, this.#maxRows),
      },
      now,
    );
  }

  /** The parts of a batch: the front work and companions of its bucket that can make their deadlines. */
  #fill(
    batch: { front: Work<Payload>; rows: number },
    now: Instant,
    hooks: BatchHooks<Payload>,
  ): BatchPart<Payload>[] {
    const { bucket } = batch.front;
    const first = this.#take(batch.front, batch.rows, now);
    const parts = [first];
    let room = batch.rows - first.rows;
    // Works without rows (a shape with a 0) take no room, so that parts are bounded too.
    while (room > 0 && parts.length < this.#maxRows) {
      const work = this.queue.frontOf(bucket);
      if (!work) break;
      if (now >= this.#latestStart(work, batch.rows)) {
        hooks.tooLate(work);
        continue;
      }
      // A work that may not be split runs whole: alone when it is larger than a batch, else in the next one.
      if (work.waitingRows > room && !work.splittable) break;
      const part = this.#take(work, room, now);
      parts.push(part);
      room -= part.rows;
    }
    return parts;
  }

  #take(work: Work<Payload>, room: number, now: Instant): BatchPart<Payload> {
    const firstRow = work.nextRow;
    const rows = work.splittable ? Math.min(room, work.waitingRows) : work.waitingRows;
    if (firstRow === 0) work.startedAt = now;
    work.nextRow += rows;
    work.openParts += 1;
    this.queue.took(work, rows);
    if (work.waitingRows === 0) work.status = 'running';
    return { work, firstRow, rows };
  }

  #start(
    runner: Runner<Payload>,
    parts: readonly BatchPart<Payload>[],
    { id, now }: { id: number; now: Instant },
  ): Batch<Payload> {
    let rows = 0;
    for (const part of parts) rows += part.rows;
    const { version, rung } = this.options;
    const predictedMs = this.cost.predictedMs(rows);
    const batch = { id, version, rung, runner: runner.id, parts, rows, startedAt: now, predictedMs };
    this.#runners.start(runner, batch);
    this.#idleSince = NEVER;
    return batch;
  }
}

/**
 * Rows in one run: what pays by the profile, within what is declared. A declared limit above everything that was
 * measured stands where a row was still getting cheaper at the largest size tried.
 */
function rowLimit(declared: number | 'auto', profile: CostProfile): number {
  const best = Math.max(1, profile.bestRows);
  if (declared === 'auto' || best === 1) return best;
  let measured = 0;
  for (const { rows } of profile.points) measured = Math.max(measured, rows);
  return best >= measured ? Math.max(1, declared) : Math.max(1, Math.min(declared, best));
}
