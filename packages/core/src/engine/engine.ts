import { assert } from '../base/assert.ts';
import { type Random, SeededRandom } from '../base/random.ts';
import { type Instant, NEVER } from '../base/time.ts';
import type { CostProfile } from '../contract/model.ts';
import type { BatchReport } from '../contract/runner-port.ts';
import { GimbalError } from '../errors/gimbal-error.ts';
import { type ErrorCode, errorRow } from '../errors/registry.ts';
import { judge } from '../policy/quarantine/verdict.ts';
import { type Admission, admission } from './admission.ts';
import type { Arrival } from './arriving.ts';
import type { Batch, BatchPart } from './batch.ts';
import { deadlineHeap } from './deadline-heap.ts';
import type { EngineDriver, ProbeWanted, RunnerLoss, RunnerPlace } from './engine-driver.ts';
import type { Heap } from './heap.ts';
import {
  done,
  failureOf,
  failureOfAll,
  isGood,
  isOutOfMemory,
  MISSING_PART,
  type WorkOutcome,
} from './outcome.ts';
import type { BatchHooks, Pool } from './pool.ts';
import { expired, poison, stale, unavailable } from './refusal.ts';
import { interrupted, streamTooLarge, streamTooLong } from './stream-end.ts';
import { type EngineVersionOptions, VersionLadder } from './version-ladder.ts';
import { urgencyOf, type Work } from './work.ts';

/** A driver's timer may be this late: nearer instants are waited for turn by turn. */
const TIMER_LATENESS_MS = 2;
/** `poll` asks to be called at least this often while works are open: timers of the platform overflow after 24 days. */
const LONGEST_SLEEP_MS = 60_000;

/** What is known of a work before its body is read. */
export type Ask = Pick<Admission, 'rows' | 'deadline'> & Partial<Omit<Admission, 'urgency'>>;

/**
 * The life of requests between the edges and the runners, without I/O: routing to a rung, queueing, batching, deadlines,
 * cancellation, settlement. Time enters as `now`; the driver calls `poll` at the end of each event-loop turn in which
 * something happened, and at the instant that `poll` returned.
 */
export class Engine<Payload> {
  readonly #driver: EngineDriver<Payload>;
  /** For jitter. */
  readonly #random: Random;
  readonly #versions = new Map<string, VersionLadder<Payload>>();
  /** Versions for which works wait; the others need no look. */
  readonly #waiting = new Set<VersionLadder<Payload>>();
  /** Every open work that has a deadline. */
  readonly #deadlines: Heap<Work<Payload>> = deadlineHeap();
  readonly #hooks: BatchHooks<Payload>;
  #lastBatchId = 0;
  /** Works that were run alone so far: each has a bucket of its own. */
  #alone = 0;
  #now: Instant = 0;

  constructor(driver: EngineDriver<Payload>, options: { readonly random?: Random } = {}) {
    this.#driver = driver;
    this.#random = options.random ?? new SeededRandom(1);
    this.#hooks = {
      nextBatchId: () => {
        this.#lastBatchId += 1;
        return this.#lastBatchId;
      },
      tooLate: (work) => {
        this.#versions.get(work.version)?.slip.observed(work, this.#now - work.enqueuedAt);
        this.#expire(work, 'its turn came when too little time was left to run it');
      },
      stale: (work) => this.#end(work, { kind: 'failed', error: stale(this.#now - work.enqueuedAt) }),
      started: (work) => this.#versions.get(work.version)?.slip.observed(work, this.#now - work.enqueuedAt),
    };
  }

  /** Works that are queued or running and have a deadline. */
  get open(): number {
    return this.#deadlines.size;
  }

  addVersion(options: EngineVersionOptions): void {
    assert(!this.#versions.has(options.version), 'a version is added once');
    this.#versions.set(options.version, new VersionLadder(options, this.#random));
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

  /** For operators and metrics; undefined when there is no such version. */
  ladder(version: string, now: Instant): VersionLadder<Payload> | undefined {
    const ladder = this.#versions.get(version);
    ladder?.control(now);
    return ladder;
  }

  /**
   * Admission before the body: throws what a work would be refused with right now, else counts it as on its way until
   * the arrival is ended.
   */
  admit(version: string, ask: Ask, now: Instant): Arrival {
    const full: Admission = {
      rows: ask.rows,
      deadline: ask.deadline,
      urgency: urgencyOf(now, ask.deadline),
      lane: ask.lane ?? 'default',
      tenant: ask.tenant ?? '',
      costClass: ask.costClass ?? 0,
      bytes: ask.bytes ?? 0,
      deadlineTold: ask.deadlineTold ?? true,
      quality: ask.quality ?? 'any',
    };
    const arriving = this.#versions.get(version)?.arriving;
    const place = this.#place(version, full, {
      now,
      arrivingUnits: arriving?.unitsUpTo(full.lane, now) ?? 0,
    });
    if (place instanceof GimbalError) {
      this.#versions.get(version)?.ask(full);
      throw place;
    }
    const units = full.rows * place.pool.cost.unitsPerRow(full.costClass);
    return place.ladder.arriving.add({ lane: full.lane, units }, now);
  }

  /** Queues a work, or settles it at once with the reason why not. */
  submit(work: Work<Payload>, now: Instant): void {
    this.#versions.get(work.version)?.ask(work);
    const place = this.#place(work.version, work, { now, arrivingUnits: 0 });
    if (place instanceof GimbalError) {
      this.#settle(work, { kind: 'failed', error: place });
      return;
    }
    work.predictedWaitMs = place.waitMs;
    work.degradedBecause = place.ladder.degradation(place.pool);
    if (work.deadline < NEVER) this.#deadlines.add(work);
    place.ladder.openBytes += work.bytes;
    work.admitted = true;
    place.pool.enqueue(work, now);
    this.#waiting.add(place.ladder);
  }

  /** Runs a work of the driver's own on a rung whose breaker asked for it; it is settled as any other. */
  submitProbe(work: Work<Payload>, { rung, ticket }: ProbeWanted, now: Instant): void {
    const ladder = this.#versions.get(work.version);
    const pool = ladder?.pools[rung];
    if (!ladder || !pool || ladder.removing || pool.serving === 0) {
      this.#settle(work, { kind: 'failed', error: unavailable(undefined) });
      return;
    }
    work.probe = { rung, ticket };
    if (work.deadline < NEVER) this.#deadlines.add(work);
    pool.enqueue(work, now);
    this.#waiting.add(ladder);
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

  /** Works that it had are run again where that is safe; one that is to blame ends with POISON_INPUT. */
  runnerLost(place: RunnerPlace, loss: RunnerLoss, now: Instant): void {
    const ladder = this.#versions.get(place.version);
    const pool = ladder?.pools[place.rung];
    if (!ladder || !pool) return;
    const batches = pool.runnerLost(place.runnerId);
    const alone = batches.length === 1 && batches[0]?.parts.length === 1;
    for (const batch of batches) {
      if (loss.cause !== 'stopped') ladder.ended(batch, 'hard', now);
      for (const part of batch.parts) this.#lostPart(pool, part, { ...loss, alone, now });
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
    const pool = ladder?.pools[place.rung];
    const batch = pool?.reported(place.runnerId, batchId, report, now);
    if (!ladder || !pool || !batch) return;
    ladder.ended(batch, failureOfAll(report), now);
    if (report.parts.some(isOutOfMemory)) pool.outOfMemory(batch.rows, now);
    for (let index = 0; index < batch.parts.length; index += 1) {
      const part = batch.parts[index];
      if (part) this.#partReported(pool, part, { batch, report, index, now });
    }
    this.#finishRemoval(ladder);
  }

  /**
   * A piece of a stream has come; whether it may be told. From the first one on, the work's deadline is the stream's end.
   */
  pieceReported(work: Work<Payload>, byteLength: number, now: Instant): boolean {
    const ladder = this.#versions.get(work.version);
    if (work.status === 'settled' || !ladder) return false;
    const { maxBytes, maxDurationMs } = ladder.stream;
    if (work.pieces === 0) {
      ladder.pools[work.rung]?.streamCost?.firstPiece(now - work.startedAt);
      this.#deadlines.remove(work);
      work.deadline = now + maxDurationMs;
      if (work.deadline < NEVER) this.#deadlines.add(work);
    }
    work.pieces += 1;
    work.pieceBytes += byteLength;
    if (work.pieceBytes <= maxBytes) return true;
    this.#end(work, { kind: 'failed', error: streamTooLarge({ bytes: work.pieceBytes, maxBytes }) });
    return false;
  }

  /**
   * Starts what can start and ends what is late. Returns when to be asked again: an instant not after `now` means at the
   * next turn of the event loop.
   */
  poll(now: Instant): Instant {
    this.#now = now;
    this.#expireAll(now);
    let next = NEVER;
    for (const ladder of this.#versions.values()) {
      for (const want of ladder.takeProbes(now)) this.#driver.probe?.({ version: ladder.version, ...want });
      next = Math.min(next, ladder.probesDueAt(now));
    }
    for (const ladder of this.#waiting) {
      const until = this.#start(ladder, now);
      if (until === undefined) this.#waiting.delete(ladder);
      else next = Math.min(next, until);
    }
    const first = this.#deadlines.first;
    return first ? Math.min(next, first.deadline, now + LONGEST_SLEEP_MS) : next;
  }

  /** Starts what can start of a version; returns when to look again, undefined when nothing waits any more. */
  #start(ladder: VersionLadder<Payload>, now: Instant): Instant | undefined {
    for (let started = true; started; ) {
      started = false;
      for (const pool of ladder.inOrder()) {
        const batch = ladder.hasSlot ? pool.next(now, this.#hooks) : undefined;
        if (!batch) continue;
        this.#driver.dispatch(batch);
        started = true;
        break;
      }
    }
    let until: Instant | undefined;
    for (const { queue, lingerUntil } of ladder.pools) {
      if (queue.works > 0) until = Math.min(until ?? NEVER, lingerUntil - TIMER_LATENESS_MS);
    }
    return until;
  }

  /** The pool that a work would join, or why it is refused. */
  #place(
    version: string,
    ask: Admission,
    { now, arrivingUnits }: { now: Instant; arrivingUnits: number },
  ): { ladder: VersionLadder<Payload>; pool: Pool<Payload>; waitMs: number } | GimbalError {
    if (ask.deadline <= now) return expired('the deadline had passed before the work was queued');
    const ladder = this.#versions.get(version);
    if (!ladder || ladder.removing) return unavailable(undefined);
    ladder.control(now);
    const pools = ladder.route(ask.quality);
    if (pools instanceof GimbalError) return pools;
    let refusal: GimbalError | undefined;
    for (const pool of pools) {
      const decision = admission({ ladder, pool, arrivingUnits }, ask, now);
      if (decision.kind === 'taken') {
        ladder.demand.waits(decision.waitMs / Math.max(1, ask.deadline - now));
        return { ladder, pool, waitMs: decision.waitMs };
      }
      refusal ??= decision.error;
      // A lower rung helps only where time is short.
      if (decision.error.code !== 'OVERLOADED') break;
    }
    ladder.demand.refused();
    return refusal ?? unavailable(undefined);
  }

  #partReported(
    pool: Pool<Payload>,
    part: BatchPart<Payload>,
    end: { batch: Batch<Payload>; report: BatchReport; index: number; now: Instant },
  ): void {
    const { work } = part;
    const { batch, report, now } = end;
    const partReport = report.parts[end.index] ?? MISSING_PART;
    if (isOutOfMemory(partReport)) {
      const alone = batch.parts.length === 1;
      this.#lostPart(pool, part, { error: failureOf(partReport), cause: 'out-of-memory', alone, now });
      return;
    }
    if (!partReport.ok && this.#runsElsewhere(pool, part, { code: partReport.code, now })) return;
    work.openParts -= 1;
    if (work.status === 'settled') return;
    work.reported.push({ firstRow: part.firstRow, report: partReport });
    if (work.status === 'running' && work.openParts === 0) {
      if (work.deadline <= now) this.#expire(work, 'the deadline passed while the model ran');
      else this.#settle(work, done(work, { batch, report, now }));
    } else if (!partReport.ok) {
      // The work can't succeed any more: its other rows need not be run.
      if (work.deadline <= now) this.#expire(work, 'the deadline passed while the model ran');
      else this.#end(work, { kind: 'failed', error: failureOf(partReport) });
    }
  }

  /**
   * A failure that is not the input's doing may not happen on another variant or runner: the work is run again there,
   * once. Whether it was.
   */
  #runsElsewhere(
    pool: Pool<Payload>,
    part: BatchPart<Payload>,
    { code, now }: { code: ErrorCode; now: Instant },
  ): boolean {
    const { work } = part;
    const isWhole = work.openParts === 1 && work.reported.length === 0 && work.waitingRows === 0;
    if (errorRow(code).retry !== 'elsewhere' || work.wentElsewhere || work.probe || !work.repeatable)
      return false;
    if (work.status === 'settled' || work.pieces > 0 || !isWhole || work.deadline <= now) return false;
    const ladder = this.#versions.get(work.version);
    const other = ladder?.elsewhere(pool, work.quality);
    if (!ladder || !other) return false;
    work.openParts = 0;
    work.wentElsewhere = true;
    work.nextRow = 0;
    work.degradedBecause =
      other === pool ? work.degradedBecause : (ladder.degradation(other) ?? 'unavailable');
    other.join(work);
    this.#waiting.add(ladder);
    return true;
  }

  /** A run of these rows came to nothing: they wait again, or their work ends. */
  #lostPart(
    pool: Pool<Payload>,
    part: BatchPart<Payload>,
    end: RunnerLoss & { alone: boolean; now: Instant },
  ): void {
    const { work } = part;
    work.openParts -= 1;
    if (work.status === 'settled') return;
    if (work.deadline <= end.now) {
      this.#expire(work, 'the deadline passed while the model ran');
      return;
    }
    if (work.pieces > 0) {
      this.#end(work, { kind: 'failed', error: interrupted(end.error) });
      return;
    }
    work.ends.push({ cause: end.cause, alone: end.alone });
    const verdict = judge(work);
    switch (verdict.kind) {
      case 'poison':
        this.#end(work, { kind: 'failed', error: poison(verdict.because) });
        break;
      case 'give-up':
        this.#end(work, { kind: 'failed', error: end.error });
        break;
      case 'run-alone':
        this.#alone += 1;
        this.#queueAgain(pool, part, `alone ${this.#alone}`);
        break;
      case 'run-again':
        this.#queueAgain(pool, part, work.bucket);
        break;
    }
  }

  #queueAgain(pool: Pool<Payload>, { work, firstRow, rows }: BatchPart<Payload>, bucket: string): void {
    if (work.list) pool.queue.removed(work);
    if (work.openParts === 0 && work.reported.length === 0) {
      // Nothing of it is done or running: it is as new.
      work.nextRow = 0;
      work.again.length = 0;
    } else work.again.push({ firstRow, rows });
    work.bucket = bucket;
    pool.join(work);
    const ladder = this.#versions.get(work.version);
    if (ladder) this.#waiting.add(ladder);
  }

  #rehome(ladder: VersionLadder<Payload>): void {
    if (ladder.rehome()) this.#waiting.add(ladder);
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
    const maxDurationMs = this.#versions.get(work.version)?.stream.maxDurationMs ?? 0;
    const error = work.pieces > 0 ? streamTooLong(maxDurationMs) : expired(what);
    this.#end(work, { kind: 'failed', error });
  }

  /** Settles a work wherever it is: what still waits of it leaves the queue, what runs of it is ignored later. */
  #end(work: Work<Payload>, outcome: WorkOutcome): void {
    if (work.list) this.#versions.get(work.version)?.pools[work.rung]?.queue.removed(work);
    this.#settle(work, outcome);
  }

  #settle(work: Work<Payload>, outcome: WorkOutcome): void {
    assert(work.status !== 'settled', 'a work is settled once');
    work.status = 'settled';
    const ladder = this.#versions.get(work.version);
    if (work.probe) ladder?.probed(work.probe, isGood(outcome), this.#now);
    if (ladder && work.admitted) ladder.openBytes -= work.bytes;
    this.#deadlines.remove(work);
    this.#driver.settle(work, outcome);
  }

  #finishRemoval(ladder: VersionLadder<Payload>): void {
    if (!ladder.removing || !ladder.empty) return;
    if (!this.#versions.delete(ladder.version)) return;
    this.#waiting.delete(ladder);
    this.#driver.drained(ladder.version);
  }
}
