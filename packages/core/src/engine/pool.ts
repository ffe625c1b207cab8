import { type Instant, NEVER } from '../base/time.ts';
import type { Criticality } from '../contract/inference-port.ts';
import type { CostProfile } from '../contract/model.ts';
import type { BatchReport } from '../contract/runner-port.ts';
import type { Batch, BatchPart } from './batch.ts';
import { type BatchingDecision, decideBatch } from './batching.ts';
import { CostModel } from './cost-model.ts';
import { HostLag } from './host-lag.ts';
import type { PoolView } from './pool-view.ts';
import { LANES, WorkQueue } from './queue.ts';
import { RowCeiling } from './row-ceiling.ts';
import { type Runner, RunnerSet } from './runner-set.ts';
import { StandingQueue } from './standing-queue.ts';
import { StreamCost } from './stream-cost.ts';
import type { RowRange, Work } from './work.ts';

/** Weight of the newest gap between arrivals. */
const GAP_LEARNING_RATIO = 0.1;
/** A work that can hardly be done in time is tried no more often than this. */
const TRIAL_EVERY_MS = 1000;
/**
 * Batches that one runner may have. 1: it runs one thing at a time, and what waits in the queue can still be batched
 * better, expired and cancelled. More hides the doorbell's latency where a run is about as short.
 */
const BATCHES_PER_RUNNER = 1;
/** A turn of the event loop ends no more works of a queue that stands than this. */
const MAX_SHED_AT_ONCE = 256;

export interface PoolOptions {
  readonly version: string;
  readonly rung: number;
  /** Most rows in one run that configuration allows; the profile may lower it. */
  readonly maxRows: number | 'auto';
  readonly maxDelayMs: number;
  readonly preferredSizes: readonly number[];
  /** Default: 1. */
  readonly batchesPerRunner?: number;
  /** All its works are streams: each runs alone. Default: false. */
  readonly streams?: boolean;
}

/** What a pool needs from the engine while it forms a batch. */
export interface BatchHooks<Payload> {
  nextBatchId(): number;
  /** The work can't be done by its deadline any more: the engine takes it out of the queue and settles it. */
  tooLate(work: Work<Payload>): void;
  /** The work has waited too long in a queue that stands: the engine takes it out and settles it. */
  stale(work: Work<Payload>): void;
  /** The first rows of a work go to a runner. */
  started(work: Work<Payload>): void;
}

/** One look at the pool. */
interface Turn<Payload> {
  readonly now: Instant;
  readonly hooks: BatchHooks<Payload>;
}

/** The runners of one variant and the works that wait for them. */
export class Pool<Payload> {
  readonly options: PoolOptions;
  readonly queue = new WorkQueue<Payload>();
  readonly cost = new CostModel();
  /** Undefined where works are no streams. */
  readonly streamCost: StreamCost | undefined;
  /** Of the breaker that watches it; set by the ladder. */
  ticket: () => number = () => 0;
  /** For callers that did not say how long they wait. */
  readonly standing = new StandingQueue();
  readonly #runners: RunnerSet<Payload>;
  readonly #ceiling = new RowCeiling();
  readonly #lag = new HostLag();
  #gapMs = NEVER;
  /** Of a row, lately. */
  #usualUnits = 1;
  #lastArrival: Instant = -NEVER;
  #idleSince: Instant = NEVER;
  #lingerUntil: Instant = NEVER;
  #nextTrialAt: Instant = -NEVER;

  constructor(options: PoolOptions) {
    this.options = options;
    this.#runners = new RunnerSet(options.batchesPerRunner ?? BATCHES_PER_RUNNER);
    this.streamCost = options.streams ? new StreamCost(this.cost) : undefined;
  }

  get maxRows(): number {
    return this.#ceiling.rows;
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

  get runningBatches(): number {
    return this.#runners.batches;
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
  takesBesideIdle(
    ask: { readonly rows: number; readonly costClass: number; readonly deadline: Instant },
    now: Instant,
  ): boolean {
    const units = Math.min(ask.rows, this.maxRows) * this.cost.unitsPerRow(ask.costClass);
    return now + this.#leastMs(units) < ask.deadline || now >= this.#nextTrialAt;
  }

  /** After `next` gave nothing: when it wants to be asked again though nothing happens; NEVER for not at all. */
  get lingerUntil(): Instant {
    return this.#lingerUntil;
  }

  runnerReady(id: string, profile: CostProfile): void {
    this.#ceiling.seed(this.streamCost ? 1 : rowLimit(this.options.maxRows, profile));
    this.queue.maxRows = this.maxRows;
    if (!this.streamCost?.learned) this.cost.seed(profile);
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
    if (now + this.#leastMs(1) >= work.deadline) this.#nextTrialAt = now + TRIAL_EVERY_MS;
    if (this.#lastArrival > -NEVER) {
      const gapMs = (now - this.#lastArrival) / Math.max(1, work.rows);
      this.#gapMs = this.#gapMs === NEVER ? gapMs : this.#gapMs + GAP_LEARNING_RATIO * (gapMs - this.#gapMs);
    }
    this.#lastArrival = now;
    this.join(work);
    this.#usualUnits += GAP_LEARNING_RATIO * (work.unitsPerRow - this.#usualUnits);
  }

  /** Queues a work that arrived elsewhere, or earlier. */
  join(work: Work<Payload>): void {
    work.rung = this.options.rung;
    work.unitsPerRow = this.cost.unitsPerRow(work.costClass);
    work.status = 'queued';
    this.queue.push(work);
  }

  /** Time of a usual row in a full batch; undefined before a runner has measured itself. */
  get usualRowMs(): number | undefined {
    if (!this.proven) return undefined;
    return this.cost.perRowMs * this.#usualUnits + this.cost.fixedMs / this.maxRows;
  }

  /** How late the host is, lately, to see what runners have done. */
  get hostLagMs(): number {
    return this.#lag.ms;
  }

  /** What a new work adds until its answer: its own runs, one after the other, or the first piece of its stream. */
  ownMs({ rows, costClass }: { readonly rows: number; readonly costClass: number }): number {
    const firstMs = this.streamCost?.firstMs;
    if (firstMs !== undefined) return firstMs;
    const runs = Math.max(1, Math.ceil(rows / this.maxRows));
    return runs * this.cost.fixedMs + rows * this.cost.unitsPerRow(costClass) * this.cost.perRowMs;
  }

  /** Predicted time on one runner of so many of the units that wait. */
  queuedMs(units: number): number {
    const { queue, cost } = this;
    if (queue.units <= 0) return 0;
    return units * cost.perRowMs + queue.runs * cost.fixedMs * Math.min(1, units / queue.units);
  }

  /** Predicted time of what runs, over all runners. */
  remainingMs(now: Instant): number {
    return this.#runners.remainingMs(now);
  }

  /** How long a new work of the lane would wait for a runner of this pool. */
  predictedWaitMs(lane: Criticality, now: Instant): number {
    const asked = { lane, tenant: '', costClass: 0, deadlineTold: true, urgency: NEVER };
    const queuedMs = this.queuedMs(this.queue.unitsBefore(asked, { units: 0, now }));
    return (this.remainingMs(now) + queuedMs) / Math.max(1, this.serving);
  }

  /** A run of so many rows needed more memory than there is. */
  outOfMemory(rows: number, now: Instant): void {
    this.#ceiling.lower(rows, now);
    this.queue.maxRows = this.maxRows;
  }

  /** The next batch to start now, or nothing: see `lingerUntil`. */
  next(now: Instant, hooks: BatchHooks<Payload>): Batch<Payload> | undefined {
    this.#lingerUntil = NEVER;
    if (this.#ceiling.probe(now)) this.queue.maxRows = this.maxRows;
    this.#shedStale(now, hooks);
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
    return this.#start(runner, this.#fill(front, decision.rows, { now, hooks }), {
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
    if (this.streamCost) {
      if (batch.parts.some(({ work }) => work.pieces > 0)) this.streamCost.ended(now - startedAt);
      return batch;
    }
    const runMs = report.preprocessMs + report.inferMs + report.postprocessMs;
    const tookMs = Math.max(runMs, now - startedAt);
    this.#lag.observed({ runMs, lagMs: tookMs - runMs });
    if (report.parts.some((part) => part.ok)) {
      // What the host was late to see is no cost of the run, but for the way there and back.
      this.cost.observed(batch, Math.min(tookMs, runMs + this.cost.transportMs));
    }
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
      maxRows: this.maxRows,
    };
  }

  /**
   * The work that the next batch is made around. One that can't make its deadline any more is dropped, never run: a
   * margin of one batch keeps an overloaded queue from answering everything late. A work that is alone is run as long as
   * there is time at all, so that a cost model that went wrong can learn again.
   */
  #front(now: Instant, hooks: BatchHooks<Payload>): Work<Payload> | undefined {
    for (let work = this.queue.front(); work; work = this.queue.front()) {
      const rows = Math.min(this.queue.rowsIn(work.bucket), this.#rowsAtOnce);
      const limit = this.queue.works === 1 ? work.deadline : this.#latestStart(work, rows);
      if (now < limit) return work;
      hooks.tooLate(work);
    }
    return undefined;
  }

  /** By when a batch of so many rows must start for the work in it. */
  #latestStart(work: Work<Payload>, batchRows: number): Instant {
    const rows = work.splittable ? batchRows : Math.max(batchRows, work.waitingRows);
    return work.deadline - (this.streamCost?.firstMs ?? this.cost.predictedMs(rows * work.unitsPerRow));
  }

  /** What an answer, or the first piece of one, can hardly be faster than. */
  #leastMs(units: number): number {
    const firstMs = this.streamCost?.firstMs;
    return firstMs === undefined ? this.cost.leastMs(units) : firstMs / 2;
  }

  /** Where callers may have gone unseen, a queue that stands gives up those that have waited longest. */
  #shedStale(now: Instant, hooks: BatchHooks<Payload>): void {
    const { standing, queue } = this;
    standing.scale(this.cost.predictedMs(this.maxRows));
    for (const lane of LANES) {
      if (queue.depth(lane) === 0) standing.emptied(lane);
      const stands = standing.stands(lane, now);
      queue.setNewestFirst(lane, stands);
      if (!stands) continue;
      for (let shed = 0; shed < MAX_SHED_AT_ONCE; shed += 1) {
        const oldest = queue.oldestWork(lane);
        if (!oldest || oldest.deadlineTold || now - oldest.enqueuedAt < standing.maxAgeMs) break;
        hooks.stale(oldest);
      }
    }
  }

  #decide(runner: Runner<Payload>, front: Work<Payload>, now: Instant): BatchingDecision {
    const rows = Math.max(1, this.queue.rowsIn(front.bucket));
    if (runner.batches.length > 0) {
      // Rows gather beside a busy runner: only a full batch is worth sending ahead.
      return rows < this.maxRows ? { kind: 'linger', until: NEVER } : { kind: 'go', rows: this.maxRows };
    }
    return decideBatch(
      {
        rows,
        maxRows: this.#rowsAtOnce,
        preferredSizes: this.options.preferredSizes,
        maxDelayMs: this.options.maxDelayMs,
        fixedMs: this.cost.fixedMs,
        gapMs: this.#gapMs,
        lastArrival: this.#lastArrival,
        idleSince: this.#idleSince,
        latestStart: this.#latestStart(front, this.maxRows),
      },
      now,
    );
  }

  /** Where a row still got cheaper at the largest size measured and nobody set a limit, a late host runs more at once. */
  get #rowsAtOnce(): number {
    return this.maxRows > 1 && this.options.maxRows === 'auto'
      ? this.maxRows * this.#lag.stretch
      : this.maxRows;
  }

  /** The parts of a batch: the front work and companions of its bucket, as far as all can make their deadlines. */
  #fill(front: Work<Payload>, rows: number, turn: Turn<Payload>): BatchPart<Payload>[] {
    const { now, hooks } = turn;
    const first = this.#take(front, rows, turn);
    const parts = [first];
    let room = rows - first.rows;
    let units = first.rows * front.unitsPerRow;
    let { deadline } = front;
    // Works without rows (a shape with a 0) take no room, so that parts are bounded too.
    while (room > 0 && parts.length < this.#rowsAtOnce) {
      const work = this.queue.frontOf(front.bucket);
      if (!work) break;
      // Another range of a work that is in already can only come with it.
      const isIn = parts.at(-1)?.work === work;
      if (!isIn && now >= this.#latestStart(work, rows)) {
        hooks.tooLate(work);
        continue;
      }
      // A work that may not be split runs whole: alone when it is larger than a batch, else in the next one.
      if (work.waitingRows > room && !work.splittable) break;
      deadline = Math.min(deadline, work.deadline);
      units += Math.min(room, work.waitingRows) * work.unitsPerRow;
      // Rows of a dearer class would make late those that are in.
      if (now + this.cost.predictedMs(units) >= deadline) break;
      const part = this.#take(work, room, turn);
      parts.push(part);
      room -= part.rows;
    }
    return parts;
  }

  #take(work: Work<Payload>, room: number, { now, hooks }: Turn<Payload>): BatchPart<Payload> {
    const first = work.nextRow === 0 && work.again.length === 0 && work.openParts === 0;
    const { firstRow, rows } = nextRange(work, room);
    if (first) {
      work.startedAt = now;
      if (!work.deadlineTold) this.standing.waited(work.lane, now - work.enqueuedAt, now);
      hooks.started(work);
    }
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
    let units = 0;
    let costClass = parts[0]?.work.costClass;
    for (const part of parts) {
      rows += part.rows;
      units += part.rows * part.work.unitsPerRow;
      if (part.work.costClass !== costClass) costClass = undefined;
    }
    const { version, rung } = this.options;
    const predictedMs = this.cost.predictedMs(units);
    const batch = {
      id,
      version,
      rung,
      runner: runner.id,
      parts,
      rows,
      units,
      costClass,
      ticket: this.ticket(),
      startedAt: now,
      predictedMs,
    };
    this.#runners.start(runner, batch);
    this.#idleSince = NEVER;
    return batch;
  }
}

/** Takes rows out of what waits of a work: those that were lost with a runner come first. */
function nextRange<Payload>(work: Work<Payload>, room: number): RowRange {
  const lost = work.again.pop();
  if (lost) {
    if (!work.splittable || lost.rows <= room) return lost;
    work.again.push({ firstRow: lost.firstRow + room, rows: lost.rows - room });
    return { firstRow: lost.firstRow, rows: room };
  }
  const rows = work.splittable ? Math.min(room, work.waitingRows) : work.waitingRows;
  const firstRow = work.nextRow;
  work.nextRow += rows;
  return { firstRow, rows };
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
