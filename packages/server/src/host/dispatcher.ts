import {
  type Arrival,
  type Ask,
  type Batch,
  type BatchReport,
  type Clock,
  type CostProfile,
  Engine,
  type EngineDriver,
  type EngineVersionOptions,
  GimbalError,
  type Instant,
  type JobPart,
  NEVER,
  type PieceReport,
  type Pool,
  type ProbeWanted,
  type RunnerLoss,
  type RunnerPlace,
  type RunnerPool,
  type StreamTerms,
  type VersionLadder,
  type Work,
  type WorkOutcome,
  type WorkResult,
} from '@gimbal/core';
import { type PendingWork, SharedReport } from './call.ts';
import { systemRandom } from './system-ports.ts';

/** What the dispatcher must know of a version besides its works. */
export interface DispatchedVersion {
  readonly key: string;
  readonly variantNames: readonly string[];
  readonly runnerPools: readonly RunnerPool[];
  /** What runners are told of its streams; undefined where works are no streams. */
  readonly streamTerms: StreamTerms | undefined;
  /** A run has ended, whatever came of it. */
  onExecuted(rows: number, report: BatchReport): void;
  /** A work has ended; returns what its call is told. */
  onSettled(pending: PendingWork, result: WorkResult, end: WorkEnd): WorkResult;
  /** The breaker of a rung wants a golden input to be run there. */
  onProbeWanted(want: ProbeWanted): void;
  onDrained(): void;
}

/** The engine's side of a work that has ended. */
export interface WorkEnd {
  readonly work: Work<PendingWork>;
  readonly outcome: WorkOutcome;
}

/** An end that no engine made: a kept answer, a refusal. */
interface Telling {
  readonly pending: PendingWork;
  readonly result: WorkResult;
}

/**
 * Drives the pure engine: gives it the time, runs its batches on runner pools and brings outcomes back to their calls.
 * Outcomes are delivered after the engine's own call has returned, so that whatever an edge does then never re-enters it.
 */
export class Dispatcher implements EngineDriver<PendingWork> {
  readonly #clock: Clock;
  readonly #engine = new Engine<PendingWork>(this, { random: systemRandom });
  readonly #versions = new Map<string, DispatchedVersion>();
  /** Batches that runners have. */
  readonly #running = new Map<number, Batch<PendingWork>>();
  /** Pieces of running streams that their readers have taken and runners were not told of yet. */
  readonly #taken = new Map<number, number>();
  #settlements: (WorkEnd | Telling)[] = [];
  #turnScheduled = false;
  #timer: NodeJS.Timeout | undefined;
  #timerAt: Instant = NEVER;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(version: DispatchedVersion, options: EngineVersionOptions): void {
    this.#versions.set(version.key, version);
    this.#engine.addVersion(options);
  }

  remove(key: string): void {
    this.#engine.removeVersion(key, this.#clock.now());
    this.#deliver();
  }

  pools(key: string): readonly Pool<PendingWork>[] {
    return this.#engine.pools(key);
  }

  submitProbe(work: Work<PendingWork>, want: ProbeWanted): void {
    this.#engine.submitProbe(work, want, this.#clock.now());
    this.#scheduleTurn();
  }

  /** Its shares are up to date; undefined once the version is gone. */
  ladder(key: string): VersionLadder<PendingWork> | undefined {
    return this.#engine.ladder(key, this.#clock.now());
  }

  /** Rows of the batch that a runner has now. */
  runningRows(place: RunnerPlace): number {
    for (const batch of this.#running.values()) if (isAt(batch, place)) return batch.rows;
    return 0;
  }

  /** Throws what the work would be refused with; the arrival ends with the body. */
  admit(key: string, ask: Ask): Arrival {
    return this.#engine.admit(key, ask, this.#clock.now());
  }

  submit(work: Work<PendingWork>): void {
    this.#engine.submit(work, this.#clock.now());
    this.#scheduleTurn();
  }

  cancel(work: Work<PendingWork>): void {
    this.#engine.cancel(work);
    this.#abandonBatchOf(work);
    this.#scheduleTurn();
  }

  /** Tells a work's end that did not come from the engine, after the present turn. */
  settleLater(pending: PendingWork, result: WorkResult): void {
    this.#settlements.push({ pending, result });
    this.#scheduleTurn();
  }

  runnerReady(place: RunnerPlace, profile: CostProfile): void {
    this.#engine.runnerReady(place, profile, this.#clock.now());
    this.#scheduleTurn();
  }

  runnerRetiring(place: RunnerPlace): void {
    this.#engine.runnerRetiring(place, this.#clock.now());
    this.#scheduleTurn();
  }

  runnerLost(place: RunnerPlace, loss: RunnerLoss): void {
    for (const [id, batch] of this.#running) {
      if (!isAt(batch, place)) continue;
      this.#ended(id);
      for (const part of batch.parts) part.work.payload.call.batchEnded();
    }
    this.#engine.runnerLost(place, loss, this.#clock.now());
    this.#deliver();
    this.#scheduleTurn();
  }

  faulted(place: Omit<RunnerPlace, 'runnerId'>, error: GimbalError | undefined): void {
    this.#engine.faulted(place, error, this.#clock.now());
    this.#deliver();
  }

  batchReported(place: RunnerPlace, batchId: number, report: BatchReport): void {
    const batch = this.#running.get(batchId);
    if (!batch) {
      report.release();
      return;
    }
    this.#ended(batchId);
    const shared = new SharedReport(report, batch.parts.length);
    for (const part of batch.parts) {
      const { call } = part.work.payload;
      call.batchEnded();
      call.hold(shared);
    }
    this.#versions.get(place.version)?.onExecuted(batch.rows, report);
    this.#engine.batchReported(place, batchId, report, this.#clock.now());
    this.#deliver();
    this.#scheduleTurn();
  }

  #ended(batchId: number): void {
    this.#running.delete(batchId);
    this.#taken.delete(batchId);
  }

  /** A piece of a stream: told at once, so that it is with its reader before anything else happens. */
  pieceReported(place: RunnerPlace, batchId: number, piece: PieceReport): void {
    const batch = this.#running.get(batchId);
    const version = this.#versions.get(place.version);
    const work = batch?.parts[0]?.work;
    if (!batch || !work || !version) return;
    const mayPass = this.#engine.pieceReported(work, piece.byteLength, this.#clock.now());
    const variant = version.variantNames[batch.rung] ?? '';
    const { rung } = batch;
    const isTold =
      mayPass &&
      work.payload.piece({
        ...piece,
        variant,
        rung,
        degradedBecause: work.degradedBecause,
        queueMs: work.startedAt - work.enqueuedAt,
        taken: () => this.#pieceTaken(batch),
      });
    if (!isTold) this.#abandonBatchOf(work);
    this.#deliver();
    this.#scheduleTurn();
  }

  /** Grants more once half of what a runner may send ahead has been taken: fewer frames, and no pause. */
  #pieceTaken(batch: Batch<PendingWork>): void {
    const version = this.#versions.get(batch.version);
    if (!version?.streamTerms || !this.#running.has(batch.id)) return;
    const taken = (this.#taken.get(batch.id) ?? 0) + 1;
    if (taken * 2 < version.streamTerms.piecesAhead) {
      this.#taken.set(batch.id, taken);
      return;
    }
    this.#taken.delete(batch.id);
    version.runnerPools[batch.rung]?.grant?.(batch.id, taken);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timerAt = NEVER;
  }

  // EngineDriver: called by the engine.

  dispatch(batch: Batch<PendingWork>): void {
    const version = this.#versions.get(batch.version);
    const pool = version?.runnerPools[batch.rung];
    if (!version || !pool) return;
    this.#running.set(batch.id, batch);
    const parts: JobPart[] = [];
    let latestDeadline = Number.NEGATIVE_INFINITY;
    for (const part of batch.parts) {
      const { call, request } = part.work.payload;
      latestDeadline = Math.max(latestDeadline, part.work.deadline);
      call.batchStarted();
      parts.push({
        input: request.input,
        firstRow: part.firstRow,
        rows: part.rows,
        sliced: part.rows !== part.work.rows,
        want: request.want,
        parameters: request.parameters,
      });
    }
    const stream = version.streamTerms;
    const job = stream ? { id: batch.id, parts, stream } : { id: batch.id, parts };
    pool.run(batch.runner, job, batch.predictedMs, latestDeadline);
  }

  settle(work: Work<PendingWork>, outcome: WorkOutcome): void {
    this.#settlements.push({ work, outcome });
  }

  probe(want: ProbeWanted): void {
    // Not from inside the engine's own call.
    queueMicrotask(() => this.#versions.get(want.version)?.onProbeWanted(want));
  }

  drained(key: string): void {
    const version = this.#versions.get(key);
    this.#versions.delete(key);
    if (version) queueMicrotask(() => version.onDrained());
  }

  /** Everything that arrives in one turn of the event loop is looked at together, at its end. */
  #scheduleTurn(): void {
    if (this.#turnScheduled) return;
    this.#turnScheduled = true;
    setImmediate(this.#turn);
  }

  readonly #turn = (): void => {
    this.#turnScheduled = false;
    this.#deliver();
    const now = this.#clock.now();
    const next = this.#engine.poll(now);
    this.#deliver();
    if (next <= now) this.#scheduleTurn();
    else this.#setTimer(next, now);
  };

  /** One timer, re-armed only to fire earlier: under load it is hardly ever touched. */
  #setTimer(at: Instant, now: Instant): void {
    if (at === NEVER || at >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(
      () => {
        this.#timerAt = NEVER;
        this.#turn();
      },
      Math.ceil(at - now),
    );
  }

  #deliver(): void {
    while (this.#settlements.length > 0) {
      const settlements = this.#settlements;
      this.#settlements = [];
      for (const settlement of settlements) {
        if ('work' in settlement) this.#tell(settlement);
        else settlement.pending.settle(settlement.result);
      }
    }
  }

  /** Tells a pool that nobody waits for a batch any more, where it can do something about that. */
  #abandonBatchOf(work: Work<PendingWork>): void {
    if (work.openParts === 0) return;
    for (const [id, batch] of this.#running) {
      if (!batch.parts.some((part) => part.work === work)) continue;
      if (batch.parts.some((part) => part.work.status !== 'settled')) continue;
      this.#versions.get(batch.version)?.runnerPools[batch.rung]?.cancel?.(id);
    }
  }

  #tell(end: WorkEnd): void {
    const { work, outcome } = end;
    // A stream that ended at a limit of ours is still with its runner.
    if (work.streams) this.#abandonBatchOf(work);
    const version = this.#versions.get(work.version);
    const result = resultOf(outcome, version?.variantNames ?? []);
    work.payload.settle(version ? version.onSettled(work.payload, result, end) : result);
  }
}

/** A runner's id is its own only within its pool. */
function isAt(batch: Batch<PendingWork>, place: RunnerPlace): boolean {
  return batch.runner === place.runnerId && batch.rung === place.rung && batch.version === place.version;
}

function resultOf(outcome: WorkOutcome, variantNames: readonly string[]): WorkResult {
  switch (outcome.kind) {
    case 'failed':
      return { ok: false, error: outcome.error };
    case 'cancelled':
      return { ok: false, error: new GimbalError('CANCELLED', 'Cannot answer: the client went away') };
    case 'done': {
      const parts = [];
      for (const { report } of outcome.reports) {
        if (!report.ok) {
          const { code, message, fields } = report;
          return { ok: false, error: new GimbalError(code, message, { fields }) };
        }
        parts.push(report.output);
      }
      const { rung, batchRows, timings, degradedBecause } = outcome;
      return {
        ok: true,
        variant: variantNames[rung] ?? '',
        rung,
        batchRows,
        parts,
        timings,
        degradedBecause,
      };
    }
  }
}
