import { assert } from '../base/assert.ts';
import { type Instant, NEVER } from '../base/time.ts';
import type { Criticality } from '../contract/inference-port.ts';
import type { CostProfile } from '../contract/model.ts';
import type { BatchReport, PartReport } from '../contract/runner-port.ts';
import type { StageTimings } from '../contract/work.ts';
import { GimbalError } from '../errors/gimbal-error.ts';
import type { Batch } from './batch.ts';
import { Heap } from './heap.ts';
import type { BatchHooks, Pool } from './pool.ts';
import { expired, tooLate, tooManyBytes, unavailable } from './refusal.ts';
import { type EngineVersionOptions, VersionLadder } from './version-ladder.ts';
import type { RowsReported, Work } from './work.ts';

/** A driver's timer may be this late: nearer instants are waited for turn by turn. */
const TIMER_LATENESS_MS = 2;
/** `poll` asks to be called at least this often while works are open: timers of the platform overflow after 24 days. */
const LONGEST_SLEEP_MS = 60_000;

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
  /** The runner has fewer batches than it may have. Ending a run that hangs is the runner pool's: it has `predictedMs`. */
  dispatch(batch: Batch<Payload>): void;
  /**
   * Exactly once for each submitted work. The engine keeps no report: who called `batchReported` releases it when the
   * calls of all its parts have closed.
   */
  settle(work: Work<Payload>, outcome: WorkOutcome): void;
  /** Nothing of a removed version is left in the engine. */
  drained(version: string): void;
}

/** Which runner an event is about. */
export interface RunnerPlace {
  readonly version: string;
  readonly rung: number;
  readonly runnerId: string;
}

/** What admission must know of a work. */
export interface Admission {
  readonly rows: number;
  readonly lane: Criticality;
  readonly bytes: number;
  readonly deadline: Instant;
}

/**
 * The life of requests between the edges and the runners, without I/O: routing to a rung, queueing, batching, deadlines,
 * cancellation, settlement. Time enters as `now`; the driver calls `poll` at the end of each event-loop turn in which
 * something happened, and at the instant that `poll` returned.
 */
export class Engine<Payload> {
  readonly #driver: EngineDriver<Payload>;
  readonly #versions = new Map<string, VersionLadder<Payload>>();
  /** Pools in which works wait; the others need no look. */
  readonly #waiting = new Set<Pool<Payload>>();
  /** Every open work that has a deadline. */
  readonly #deadlines = new Heap<Work<Payload>>();
  readonly #hooks: BatchHooks<Payload>;
  #lastBatchId = 0;

  constructor(driver: EngineDriver<Payload>) {
    this.#driver = driver;
    this.#hooks = {
      nextBatchId: () => {
        this.#lastBatchId += 1;
        return this.#lastBatchId;
      },
      tooLate: (work) => this.#expire(work, 'its turn came when too little time was left to run it'),
    };
  }

  /** Works that are queued or running and have a deadline. */
  get open(): number {
    return this.#deadlines.size;
  }

  addVersion(options: EngineVersionOptions): void {
    assert(!this.#versions.has(options.version), 'a version is added once');
    this.#versions.set(options.version, new VersionLadder(options));
  }

  /** No new works; those inside go on. `drained` follows when none is left, also at once. */
  removeVersion(version: string, _now: Instant): void {
    const ladder = this.#versions.get(version);
    if (!ladder) return;
    ladder.removing = true;
    this.#finishRemoval(ladder);
  }

  pools(version: string): readonly Pool<Payload>[] {
    return this.#versions.get(version)?.pools ?? [];
  }

  /** Throws what `submit` would fail a work with right now: admission before the body is read. */
  admit(
    version: string,
    rows: number,
    terms: { deadline: Instant; now: Instant; lane?: Criticality; bytes?: number },
  ): void {
    const { deadline, now, lane = 'default', bytes = 0 } = terms;
    const pool = this.#place(version, { rows, lane, bytes, deadline }, now);
    if (pool instanceof GimbalError) throw pool;
  }

  /** Queues a work, or settles it at once with the reason why not. */
  submit(work: Work<Payload>, now: Instant): void {
    const pool = this.#place(work.version, work, now);
    if (pool instanceof GimbalError) {
      this.#settle(work, { kind: 'failed', error: pool });
      return;
    }
    if (work.deadline < NEVER) this.#deadlines.add(work);
    pool.enqueue(work, now);
    this.#waiting.add(pool);
  }

  /** The caller has gone: a waiting work leaves at once, a running one is ignored when it comes back. */
  cancel(work: Work<Payload>): void {
    if (work.status === 'settled') return;
    this.#end(work, { kind: 'cancelled' });
    const ladder = this.#versions.get(work.version);
    if (ladder) this.#finishRemoval(ladder);
  }

  runnerReady(place: RunnerPlace, profile: CostProfile, _now: Instant): void {
    const ladder = this.#versions.get(place.version);
    if (!ladder) return;
    ladder.pools[place.rung]?.runnerReady(place.runnerId, profile);
    ladder.setFault(place.rung, undefined);
    this.#rehome(ladder);
  }

  /** It gets no more batches. When the last one of a removed version goes, what waits there can't be run any more. */
  runnerRetiring(place: RunnerPlace, _now: Instant): void {
    const ladder = this.#versions.get(place.version);
    if (!ladder) return;
    ladder.pools[place.rung]?.runnerRetiring(place.runnerId);
    this.#rehome(ladder);
    if (ladder.removing && !ladder.serving) this.#failWaiting(ladder.takeAll(), unavailable(undefined));
    this.#finishRemoval(ladder);
  }

  runnerLost(place: RunnerPlace, error: GimbalError, _now: Instant): void {
    const ladder = this.#versions.get(place.version);
    if (!ladder) return;
    for (const batch of ladder.pools[place.rung]?.runnerLost(place.runnerId) ?? []) {
      for (const { work } of batch.parts) this.#lostPart(work, error);
    }
    this.#rehome(ladder);
    this.#finishRemoval(ladder);
  }

  /** The variant can't run (undefined: it can again). Its waiting works move to the next rung that serves, or fail. */
  faulted(place: { version: string; rung: number }, error: GimbalError | undefined, _now: Instant): void {
    const ladder = this.#versions.get(place.version);
    const pool = ladder?.pools[place.rung];
    if (!ladder || !pool) return;
    ladder.setFault(place.rung, error);
    if (!error || pool.serving > 0) return;
    this.#rehome(ladder);
    this.#failWaiting(pool.queue.takeAll(), unavailable(error));
    this.#finishRemoval(ladder);
  }

  batchReported(place: RunnerPlace, batchId: number, report: BatchReport, now: Instant): void {
    const ladder = this.#versions.get(place.version);
    const batch = ladder?.pools[place.rung]?.reported(place.runnerId, batchId, report, now);
    if (!ladder || !batch) return;
    for (let index = 0; index < batch.parts.length; index += 1) {
      const part = batch.parts[index];
      if (!part) continue;
      const { work } = part;
      work.openParts -= 1;
      if (work.status === 'settled') continue;
      const partReport = report.parts[index] ?? MISSING_PART;
      work.reported.push({ firstRow: part.firstRow, report: partReport });
      if (work.status === 'running' && work.openParts === 0) {
        if (work.deadline <= now) this.#expire(work, 'the deadline passed while the model ran');
        else this.#settle(work, done(work, { batch, report, now }));
      } else if (!partReport.ok) {
        // The work can't succeed any more: its other rows need not be run.
        this.#end(work, { kind: 'failed', error: failureOf(partReport) });
      }
    }
    this.#finishRemoval(ladder);
  }

  /**
   * Starts what can start and ends what is late. Returns when to be asked again: an instant not after `now` means at the
   * next turn of the event loop.
   */
  poll(now: Instant): Instant {
    this.#expireAll(now);
    let next = NEVER;
    for (const pool of this.#waiting) {
      for (let batch = pool.next(now, this.#hooks); batch; batch = pool.next(now, this.#hooks)) {
        this.#driver.dispatch(batch);
      }
      next = Math.min(next, pool.lingerUntil - TIMER_LATENESS_MS);
      if (pool.queue.works === 0) this.#waiting.delete(pool);
    }
    const first = this.#deadlines.first;
    return first ? Math.min(next, first.deadline, now + LONGEST_SLEEP_MS) : next;
  }

  /** The pool that a work would join, or why it is refused. Further rules of admission have their place here. */
  #place(version: string, ask: Admission, now: Instant): Pool<Payload> | GimbalError {
    if (ask.deadline <= now) return expired('the deadline had passed before the work was queued');
    const ladder = this.#versions.get(version);
    if (!ladder || ladder.removing) return unavailable(undefined);
    const pool = ladder.route();
    if (pool instanceof GimbalError) return pool;
    const { queuedBytes, maxQueuedBytes } = ladder;
    if (queuedBytes > 0 && queuedBytes + ask.bytes > maxQueuedBytes) {
      const waitMs = pool.predictedWaitMs(ask.lane, now);
      return tooManyBytes({ queued: queuedBytes, limit: maxQueuedBytes }, waitMs);
    }
    if (pool.idle) return pool.takesBesideIdle(ask, now) ? pool : expired(HOPELESS);
    const finish = pool.predictedFinish(ask, now);
    return finish > ask.deadline ? tooLate(finish - ask.deadline) : pool;
  }

  /** A part's runner is gone; running it again elsewhere has its place here. */
  #lostPart(work: Work<Payload>, error: GimbalError): void {
    work.openParts -= 1;
    if (work.status !== 'settled') this.#end(work, { kind: 'failed', error });
  }

  #rehome(ladder: VersionLadder<Payload>): void {
    const pool = ladder.rehome();
    if (pool) this.#waiting.add(pool);
  }

  #failWaiting(works: readonly Work<Payload>[], error: GimbalError): void {
    for (const work of works) this.#settle(work, { kind: 'failed', error });
  }

  #expireAll(now: Instant): void {
    for (let work = this.#deadlines.first; work && work.deadline <= now; work = this.#deadlines.first) {
      this.#expire(
        work,
        work.nextRow === 0
          ? 'the deadline passed while it waited for a runner'
          : 'the deadline passed while the model ran',
      );
      const ladder = this.#versions.get(work.version);
      if (ladder) this.#finishRemoval(ladder);
    }
  }

  #expire(work: Work<Payload>, what: string): void {
    this.#end(work, { kind: 'failed', error: expired(what) });
  }

  /** Settles a work wherever it is: what still waits of it leaves the queue, what runs of it is ignored later. */
  #end(work: Work<Payload>, outcome: WorkOutcome): void {
    if (work.list) this.#versions.get(work.version)?.pools[work.rung]?.queue.removed(work);
    this.#settle(work, outcome);
  }

  #settle(work: Work<Payload>, outcome: WorkOutcome): void {
    assert(work.status !== 'settled', 'a work is settled once');
    work.status = 'settled';
    this.#deadlines.remove(work);
    this.#driver.settle(work, outcome);
  }

  #finishRemoval(ladder: VersionLadder<Payload>): void {
    if (!ladder.removing || !ladder.empty) return;
    if (!this.#versions.delete(ladder.version)) return;
    for (const pool of ladder.pools) this.#waiting.delete(pool);
    this.#driver.drained(ladder.version);
  }
}

const HOPELESS = 'one run takes longer than the deadline leaves';

/** A runner that says less than it was asked is at fault itself, not the work. */
const MISSING_PART: PartReport = {
  ok: false,
  code: 'INTERNAL',
  message: 'Cannot answer: the runner reported fewer results than it was given inputs',
  fields: [],
};

function failureOf(report: Extract<PartReport, { ok: false }>): GimbalError {
  return new GimbalError(report.code, report.message, { fields: report.fields });
}

function done<Payload>(
  work: Work<Payload>,
  end: { batch: Batch<Payload>; report: BatchReport; now: Instant },
): WorkOutcome {
  const { batch, report, now } = end;
  const { preprocessMs, inferMs, postprocessMs } = report;
  if (work.reported.length > 1) work.reported.sort((left, right) => left.firstRow - right.firstRow);
  const stagesMs = preprocessMs + inferMs + postprocessMs;
  return {
    kind: 'done',
    rung: batch.rung,
    batchRows: batch.rows,
    reports: work.reported,
    timings: {
      queueMs: work.startedAt - work.enqueuedAt,
      batchMs: Math.max(0, now - batch.startedAt - stagesMs),
      preprocessMs,
      inferMs,
      postprocessMs,
    },
  };
}
