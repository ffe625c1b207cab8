import { type Instant, NEVER } from '../base/time.ts';
import type { CostProfile } from '../contract/model.ts';
import type { BatchReport } from '../contract/runner-port.ts';
import type { Batch, BatchPart } from './batch.ts';
import { type BatchingSituation, decideBatch } from './batching.ts';
import { CostModel } from './cost-model.ts';
import { WorkQueue } from './queue.ts';
import type { Work } from './work.ts';

/** Weight of the newest gap between arrivals. */
const GAP_LEARNING_RATIO = 0.1;

export interface PoolOptions {
  readonly version: string;
  readonly rung: number;
  /** Most rows in one run that configuration allows; the profile may lower it. */
  readonly maxRows: number | 'auto';
  readonly maxDelayMs: number;
  readonly preferredSizes: readonly number[];
}

interface Runner<Payload> {
  readonly id: string;
  batch: Batch<Payload> | undefined;
  batches: number;
  retiring: boolean;
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
  readonly cost = new CostModel({ fixedMs: 0, perRowMs: 0 });
  readonly #runners = new Map<string, Runner<Payload>>();
  #maxRows = 1;
  #gapMs = NEVER;
  #lastArrival: Instant = -NEVER;
  #idleSince: Instant = NEVER;
  #runningRows = 0;

  constructor(options: PoolOptions) {
    this.options = options;
  }

  get maxRows(): number {
    return this.#maxRows;
  }

  /** Runners that take work. */
  get serving(): number {
    let count = 0;
    for (const runner of this.#runners.values()) if (!runner.retiring) count += 1;
    return count;
  }

  get runningRows(): number {
    return this.#runningRows;
  }

  runnerReady(id: string, profile: CostProfile): void {
    if (this.#runners.size === 0) this.cost.reseed(profile);
    const { maxRows } = this.options;
    this.#maxRows = Math.max(1, maxRows === 'auto' ? profile.bestRows : maxRows);
    this.#runners.set(id, { id, batch: undefined, batches: 0, retiring: false });
  }

  runnerRetiring(id: string): void {
    const runner = this.#runners.get(id);
    if (runner) runner.retiring = true;
  }

  /** Works that wait here can't be served by this pool now. */
  get stranded(): boolean {
    return this.queue.works > 0 && this.serving === 0;
  }

  /** The runner is gone; returns the batch that it had. */
  runnerLost(id: string): Batch<Payload> | undefined {
    const batch = this.#runners.get(id)?.batch;
    this.#runners.delete(id);
    if (batch) this.#runningRows -= batch.rows;
    return batch;
  }

  has(runnerId: string): boolean {
    return this.#runners.has(runnerId);
  }

  enqueue(work: Work<Payload>, now: Instant): void {
    const gapMs = (now - this.#lastArrival) / work.rows;
    if (this.#lastArrival > -NEVER) {
      this.#gapMs = this.#gapMs === NEVER ? gapMs : this.#gapMs + GAP_LEARNING_RATIO * (gapMs - this.#gapMs);
    }
    this.#lastArrival = now;
    work.rung = this.options.rung;
    this.queue.push(work);
  }

  /** When a new work of so many rows would be done, if it joined the queue now. */
  predictedFinish(rows: number, now: Instant): Instant {
    const perRun = this.#maxRows;
    const ahead = this.queue.rows + rows;
    const fullRuns = Math.floor(ahead / perRun);
    const rest = ahead % perRun;
    const workMs = fullRuns * this.cost.predictedMs(perRun) + (rest > 0 ? this.cost.predictedMs(rest) : 0);
    return now + this.#remainingMs(now) + workMs / Math.max(1, this.serving);
  }

  /** Whether a new work would start at once. */
  get idle(): boolean {
    return this.queue.works === 0 && this.#idleRunner() !== undefined;
  }

  /** The next batch to start now; `linger` to be asked again at the next turn; undefined when nothing can start. */
  next(now: Instant, hooks: BatchHooks<Payload>): Batch<Payload> | 'linger' | undefined {
    for (;;) {
      const runner = this.#idleRunner();
      const front = runner ? this.#inTime(undefined, { hooks, now }) : undefined;
      if (!runner || !front) {
        this.#idleSince = NEVER;
        return undefined;
      }
      if (this.#idleSince === NEVER) this.#idleSince = now;
      const decision = decideBatch(this.#situation(front), now);
      if (decision.kind === 'linger') return 'linger';
      const batch = this.#form(runner, { bucket: front.bucket, rows: decision.rows }, { hooks, now });
      if (batch) return batch;
    }
  }

  #situation(front: Work<Payload>): BatchingSituation {
    return {
      rows: this.queue.rowsIn(front.bucket),
      maxRows: this.#maxRows,
      preferredSizes: this.options.preferredSizes,
      maxDelayMs: this.options.maxDelayMs,
      fixedMs: this.cost.fixedMs,
      gapMs: this.#gapMs,
      idleSince: this.#idleSince,
      latestStart: front.deadline - this.cost.predictedMs(this.#maxRows),
    };
  }

  /**
   * The next work (of a bucket) that can still make its deadline. One that can't is dropped, never run, where others wait behind it: a
   * margin of one run keeps an overloaded queue from answering everything late. A lone work is run as long as there is
   * time at all, so that a cost model that went wrong can learn again.
   */
  #inTime(
    bucket: string | undefined,
    at: { hooks: BatchHooks<Payload>; now: Instant },
  ): Work<Payload> | undefined {
    for (;;) {
      const work = bucket === undefined ? this.queue.front() : this.queue.frontOf(bucket);
      if (!work) return undefined;
      const neededMs =
        this.queue.works > 1 ? this.cost.predictedMs(Math.min(work.waitingRows, this.#maxRows)) : 0;
      if (work.deadline > at.now + neededMs) return work;
      at.hooks.tooLate(work);
    }
  }

  /** A batch came back; undefined when the runner no longer has it. */
  reported(runnerId: string, batchId: number, report: BatchReport, now: Instant): Batch<Payload> | undefined {
    const runner = this.#runners.get(runnerId);
    const batch = runner?.batch;
    if (!runner || !batch || batch.id !== batchId) return undefined;
    runner.batch = undefined;
    this.#runningRows -= batch.rows;
    if (report.parts.some((part) => part.ok)) this.cost.observed(batch.rows, now - batch.startedAt);
    return batch;
  }

  *runningBatches(): Generator<Batch<Payload>> {
    for (const { batch } of this.#runners.values()) if (batch) yield batch;
  }

  #remainingMs(now: Instant): number {
    let least = NEVER;
    for (const { batch, retiring } of this.#runners.values()) {
      if (retiring) continue;
      if (!batch) return 0;
      least = Math.min(least, Math.max(0, batch.startedAt + batch.predictedMs - now));
    }
    return least === NEVER ? 0 : least;
  }

  #idleRunner(): Runner<Payload> | undefined {
    let best: Runner<Payload> | undefined;
    for (const runner of this.#runners.values()) {
      if (runner.batch || runner.retiring) continue;
      if (!best || runner.batches < best.batches) best = runner;
    }
    return best;
  }

  #form(
    runner: Runner<Payload>,
    wanted: { bucket: string; rows: number },
    made: { hooks: BatchHooks<Payload>; now: Instant },
  ): Batch<Payload> | undefined {
    const parts: BatchPart<Payload>[] = [];
    let rows = 0;
    while (rows < wanted.rows) {
      const work = this.#inTime(wanted.bucket, made);
      if (!work) break;
      const room = wanted.rows - rows;
      // A work that may not be split runs whole: alone when it is larger than a batch, else in the next one.
      if (work.waitingRows > room && !work.splittable && parts.length > 0) break;
      const taken = work.splittable ? Math.min(room, work.waitingRows) : work.waitingRows;
      if (work.nextRow === 0) work.startedAt = made.now;
      parts.push({ work, firstRow: work.nextRow, rows: taken });
      work.nextRow += taken;
      work.openParts += 1;
      this.queue.took(work, taken);
      if (work.waitingRows === 0) work.status = 'running';
      rows += taken;
    }
    if (parts.length === 0) return undefined;
    const { version, rung } = this.options;
    const predictedMs = this.cost.predictedMs(rows);
    const id = made.hooks.nextBatchId();
    const batch = { id, version, rung, runner: runner.id, parts, rows, startedAt: made.now, predictedMs };
    runner.batch = batch;
    runner.batches += 1;
    this.#runningRows += rows;
    this.#idleSince = NEVER;
    return batch;
  }
}
