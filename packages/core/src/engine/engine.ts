import { assert } from '../base/assert.ts';
import { type Instant, NEVER } from '../base/time.ts';
import type { CostProfile } from '../contract/model.ts';
import type { BatchReport } from '../contract/runner-port.ts';
import type { StageTimings } from '../contract/work.ts';
import { GimbalError } from '../errors/gimbal-error.ts';
import type { Batch } from './batch.ts';
import { type BatchHooks, Pool, type PoolOptions } from './pool.ts';
import type { RowsReported, Work } from './work.ts';

/** Works are looked through for passed deadlines when the earliest is due, and no more often than this. */
const SWEEP_MS = 20;
/** Retry-After of a refusal is at least this. */
const MIN_RETRY_AFTER_MS = 50;

/** How a work ended. */
export type WorkOutcome =
  | {
      readonly kind: 'done';
      readonly rung: number;
      /** Rows of the batch that its last rows were in. */
      readonly batchRows: number;
      /** In row order. */
      readonly reports: readonly RowsReported[];
      readonly timings: StageTimings;
    }
  | { readonly kind: 'failed'; readonly error: GimbalError }
  | { readonly kind: 'cancelled' };

/** What the engine asks its driver to do. Called from inside engine methods; must not call back into the engine. */
export interface EngineDriver<Payload> {
  dispatch(batch: Batch<Payload>): void;
  /** Exactly once for each submitted work. */
  settle(work: Work<Payload>, outcome: WorkOutcome): void;
  /** Nothing of a removed version is left in the engine. */
  drained(version: string): void;
}

export interface EngineVersionOptions {
  readonly version: string;
  /** One for each variant, best first. */
  readonly pools: readonly Omit<PoolOptions, 'version' | 'rung'>[];
}

/** Which runner an event is about. */
export interface RunnerPlace {
  readonly version: string;
  readonly rung: number;
  readonly runnerId: string;
}

interface EngineVersion<Payload> {
  readonly version: string;
  readonly pools: readonly Pool<Payload>[];
  /** Why a rung's variant can't run; undefined while it starts or serves. */
  readonly faults: (GimbalError | undefined)[];
  removing: boolean;
}

/**
 * The life of requests between the edges and the runners, without I/O: routing to a rung, queueing, batching, deadlines,
 * cancellation, settlement. Time enters as `now`; the driver calls `poll` at the end of each event-loop turn in which
 * something happened, and at the instant that `poll` returned.
 */
export class Engine<Payload> {
  readonly #driver: EngineDriver<Payload>;
  readonly #versions = new Map<string, EngineVersion<Payload>>();
  readonly #hooks: BatchHooks<Payload>;
  #lastBatchId = 0;
  #nextSweep: Instant = NEVER;

  constructor(driver: EngineDriver<Payload>) {
    this.#driver = driver;
    this.#hooks = {
      nextBatchId: () => {
        this.#lastBatchId += 1;
        return this.#lastBatchId;
      },
      tooLate: (work) => this.#dropLate(work),
    };
  }

  addVersion(options: EngineVersionOptions): void {
    assert(!this.#versions.has(options.version), 'a version is added once');
    const pools = options.pools.map(
      (pool, rung) => new Pool<Payload>({ ...pool, version: options.version, rung }),
    );
    const faults = pools.map(() => undefined);
    this.#versions.set(options.version, { version: options.version, pools, faults, removing: false });
  }

  /** No new works; those inside go on. `drained` follows when none is left. */
  removeVersion(version: string, now: Instant): void {
    const entry = this.#versions.get(version);
    if (!entry) return;
    entry.removing = true;
    this.#sweep(entry, now);
    this.#finishRemoval(entry);
  }

  pools(version: string): readonly Pool<Payload>[] {
    return this.#versions.get(version)?.pools ?? [];
  }

  /** Throws what `submit` would fail a work with right now: admission before the body is read. */
  admit(version: string, rows: number, times: { deadline: Instant; now: Instant }): void {
    const { deadline, now } = times;
    if (deadline <= now) throw expired('the deadline had passed before the work was queued');
    const entry = this.#versions.get(version);
    if (!entry || entry.removing) throw unavailable(undefined);
    const pool = route(entry);
    if (!pool || pool.idle) return;
    const finish = pool.predictedFinish(rows, now);
    if (finish <= deadline || pool.serving === 0) return;
    const lateMs = Math.ceil(finish - deadline);
    throw new GimbalError(
      'OVERLOADED',
      `Cannot finish in time: the queue ahead needs ${lateMs} ms more than the deadline leaves, expected work that fits`,
      { retryAfterMs: Math.max(MIN_RETRY_AFTER_MS, lateMs) },
    );
  }

  /** Queues a work, or settles it at once with the reason why not. */
  submit(work: Work<Payload>, now: Instant): void {
    const { version } = work;
    try {
      this.admit(version, work.rows, { deadline: work.deadline, now });
      const pool = route(this.#versions.get(version) as EngineVersion<Payload>);
      if (!pool) throw unavailable(this.#versions.get(version)?.faults.find((fault) => fault !== undefined));
      pool.enqueue(work, now);
      this.#nextSweep = Math.min(this.#nextSweep, Math.max(work.deadline, now + SWEEP_MS));
    } catch (error) {
      assert(error instanceof GimbalError, `submit failed: ${String(error)}`);
      this.#settle(work, { kind: 'failed', error });
    }
  }

  /** The caller has gone: a waiting work leaves at once, a running one is ignored when it comes back. */
  cancel(work: Work<Payload>): void {
    if (work.status === 'settled') return;
    const entry = this.#versions.get(work.version);
    this.#leave(entry, work);
    this.#settle(work, { kind: 'cancelled' });
    if (entry) this.#finishRemoval(entry);
  }

  runnerReady(place: RunnerPlace, profile: CostProfile, now: Instant): void {
    const entry = this.#versions.get(place.version);
    if (!entry) return;
    entry.pools[place.rung]?.runnerReady(place.runnerId, profile);
    entry.faults[place.rung] = undefined;
    this.#rehome(entry, now);
  }

  runnerRetiring(place: RunnerPlace, now: Instant): void {
    const entry = this.#versions.get(place.version);
    if (!entry) return;
    entry.pools[place.rung]?.runnerRetiring(place.runnerId);
    this.#rehome(entry, now);
  }

  /** Parts that it had fail with the error; a retry on another runner has its place here. */
  runnerLost(place: RunnerPlace, error: GimbalError, now: Instant): void {
    const entry = this.#versions.get(place.version);
    if (!entry) return;
    const batch = entry.pools[place.rung]?.runnerLost(place.runnerId);
    for (const part of batch?.parts ?? []) {
      part.work.openParts -= 1;
      if (part.work.status === 'settled') continue;
      this.#leave(entry, part.work);
      this.#settle(part.work, { kind: 'failed', error });
    }
    this.#rehome(entry, now);
    this.#finishRemoval(entry);
  }

  /** The variant can't run (undefined: it can again). Its waiting works move to the next rung that serves, or fail. */
  faulted(place: { version: string; rung: number }, error: GimbalError | undefined, now: Instant): void {
    const entry = this.#versions.get(place.version);
    const pool = entry?.pools[place.rung];
    if (!entry || !pool) return;
    entry.faults[place.rung] = error;
    if (!error || pool.serving > 0) return;
    this.#rehome(entry, now);
    for (const work of pool.queue.takeAll()) {
      this.#settle(work, { kind: 'failed', error: unavailable(error) });
    }
    this.#finishRemoval(entry);
  }

  /**
   * Works that wait for a variant without runners move to a rung that serves. One that has run in part stays: its rows
   * must not come from two variants.
   */
  #rehome(entry: EngineVersion<Payload>, now: Instant): void {
    for (const pool of entry.pools) {
      if (!pool.stranded) continue;
      const next = route(entry);
      if (!next || next === pool) continue;
      for (const work of pool.queue.takeAll()) {
        if (work.nextRow > 0) pool.queue.push(work);
        else next.enqueue(work, now);
      }
    }
  }

  batchReported(place: RunnerPlace, batchId: number, report: BatchReport, now: Instant): void {
    const entry = this.#versions.get(place.version);
    const batch = entry?.pools[place.rung]?.reported(place.runnerId, batchId, report, now);
    if (!entry || !batch) return;
    const runMs = now - batch.startedAt;
    for (const [index, part] of batch.parts.entries()) {
      const { work } = part;
      work.openParts -= 1;
      if (work.status === 'settled') continue;
      const partReport = report.parts[index];
      assert(partReport, 'a report has an entry for each part');
      work.reported.push({ firstRow: part.firstRow, report: partReport });
      if (work.status === 'running' && work.openParts === 0) this.#complete(work, batch, report, runMs);
    }
    this.#finishRemoval(entry);
  }

  /**
   * Starts what can start and ends what is late. Returns when to be asked again: an instant not after `now` means at the
   * next turn of the event loop.
   */
  poll(now: Instant): Instant {
    let next = NEVER;
    if (now >= this.#nextSweep) this.#sweepAll(now);
    for (const entry of this.#versions.values()) {
      for (const pool of entry.pools) if (this.#startBatches(pool, now)) next = now;
    }
    return Math.min(next, this.#nextSweep);
  }

  #sweepAll(now: Instant): void {
    let earliest = NEVER;
    for (const entry of this.#versions.values()) earliest = Math.min(earliest, this.#sweep(entry, now));
    this.#nextSweep = earliest === NEVER ? NEVER : Math.max(earliest, now + SWEEP_MS);
  }

  /** True when the pool wants to be asked again at the next turn. */
  #startBatches(pool: Pool<Payload>, now: Instant): boolean {
    for (;;) {
      const batch = pool.next(now, this.#hooks);
      if (batch === 'linger') return true;
      if (!batch) return false;
      this.#driver.dispatch(batch);
    }
  }

  /** Ends what is late; returns the earliest deadline of what is left. */
  #sweep(entry: EngineVersion<Payload>, now: Instant): Instant {
    let earliest = NEVER;
    const look = (work: Work<Payload>): void => {
      if (work.status === 'settled') return;
      if (work.deadline <= now) this.#expire(entry, work);
      else earliest = Math.min(earliest, work.deadline);
    };
    for (const pool of entry.pools) {
      for (const work of pool.queue.waiting()) look(work);
      for (const batch of pool.runningBatches()) for (const part of batch.parts) look(part.work);
    }
    return earliest;
  }

  #expire(entry: EngineVersion<Payload>, work: Work<Payload>): void {
    const where = work.nextRow === 0 ? 'while it waited for a runner' : 'while the model ran';
    this.#leave(entry, work);
    this.#settle(work, { kind: 'failed', error: expired(`the deadline passed ${where}`) });
  }

  /** Takes what still waits of a work out of its queue. */
  #leave(entry: EngineVersion<Payload> | undefined, work: Work<Payload>): void {
    if (work.status !== 'queued' || !entry) return;
    entry.pools[work.rung]?.queue.removed(work);
  }

  #dropLate(work: Work<Payload>): void {
    this.#leave(this.#versions.get(work.version), work);
    this.#settle(work, {
      kind: 'failed',
      error: expired('its turn came when too little time was left to run it'),
    });
  }

  #complete(work: Work<Payload>, batch: Batch<Payload>, report: BatchReport, runMs: number): void {
    work.reported.sort((left, right) => left.firstRow - right.firstRow);
    const stagesMs = report.preprocessMs + report.inferMs + report.postprocessMs;
    this.#settle(work, {
      kind: 'done',
      rung: batch.rung,
      batchRows: batch.rows,
      reports: work.reported,
      timings: {
        queueMs: work.startedAt - work.enqueuedAt,
        batchMs: Math.max(0, runMs - stagesMs),
        preprocessMs: report.preprocessMs,
        inferMs: report.inferMs,
        postprocessMs: report.postprocessMs,
      },
    });
  }

  #settle(work: Work<Payload>, outcome: WorkOutcome): void {
    assert(work.status !== 'settled', 'a work is settled once');
    work.status = 'settled';
    this.#driver.settle(work, outcome);
  }

  #finishRemoval(entry: EngineVersion<Payload>): void {
    if (!entry.removing) return;
    if (entry.pools.some((pool) => pool.queue.works > 0 || pool.runningRows > 0)) return;
    this.#versions.delete(entry.version);
    this.#driver.drained(entry.version);
  }
}

/** The best rung with a runner; while none has one, the best that is not faulted, to wait for. */
function route<Payload>(entry: EngineVersion<Payload>): Pool<Payload> | undefined {
  return (
    entry.pools.find((pool) => pool.serving > 0) ??
    entry.pools.find((_, rung) => entry.faults[rung] === undefined)
  );
}

function expired(what: string): GimbalError {
  return new GimbalError('DEADLINE_EXCEEDED', `Cannot answer in time: ${what}`);
}

function unavailable(fault: GimbalError | undefined): GimbalError {
  return new GimbalError(
    'MODEL_UNAVAILABLE',
    fault?.message ?? 'Cannot run the model: it is being unloaded',
    {
      retryAfterMs: 1000,
    },
  );
}
