import {
  type Arrival,
  assert,
  type BatchReport,
  type Block,
  type Call,
  type CallContext,
  GimbalError,
  type Instant,
  type Span,
  type StreamPiece,
  type Want,
  type Work,
  type WorkRequest,
  type WorkResult,
} from '@gimbal/core';
import type { Arena } from '../transport/arena.ts';
import type { GatheredPieces } from './gathered-pieces.ts';

/** What a call needs from the version that it talks to. */
export interface CallTarget {
  readonly arena: Arena;
  submit(pending: PendingWork): void;
  /** The client no longer wants the answer. */
  cancel(pending: PendingWork): void;
  /** Gathers the pieces of a stream for a call that wants them at once; undefined where works are no streams. */
  gather(want: Want): GatheredPieces | undefined;
  /** Told once for each call. */
  callClosed(): void;
}

export interface CallTiming {
  readonly deadline: Instant;
  readonly now: () => Instant;
  /** The work that admission counts on; ended by the first that is submitted. */
  readonly arrival: Arrival | undefined;
}

/** A finished batch's output memory, shared by the calls whose parts were in it. */
export class SharedReport {
  readonly #report: BatchReport;
  #holders: number;

  constructor(report: BatchReport, holders: number) {
    this.#report = report;
    this.#holders = holders;
    if (holders === 0) report.release();
  }

  drop(): void {
    this.#holders -= 1;
    assert(this.#holders >= 0, 'a batch report is dropped once by each holder');
    if (this.#holders === 0) this.#report.release();
  }
}

/** A work on its way through the engine, and the way back to its call. */
export class PendingWork {
  readonly call: HostCall;
  readonly request: WorkRequest;
  readonly deadline: Instant;
  readonly enqueuedAt: Instant;
  /** The engine's own object for this work, once it is queued. */
  work: Work<PendingWork> | undefined = undefined;
  settled = false;
  readonly #onSettled: (result: WorkResult) => void;
  readonly #onPiece: (piece: StreamPiece) => void;

  constructor(
    call: HostCall,
    request: WorkRequest,
    times: { enqueuedAt: Instant; deadline: Instant },
    told: {
      readonly onSettled: (result: WorkResult) => void;
      readonly onPiece?: ((piece: StreamPiece) => void) | undefined;
    },
  ) {
    this.call = call;
    this.request = request;
    this.enqueuedAt = times.enqueuedAt;
    this.deadline = times.deadline;
    this.#onSettled = told.onSettled;
    this.#onPiece = told.onPiece ?? (() => {});
  }

  /** A piece of its stream; whether anybody was there to take it. */
  piece(piece: StreamPiece): boolean {
    if (this.settled || this.call.closed) return false;
    this.#onPiece(piece);
    return true;
  }

  /** The verdict, exactly once; silent when the call has been closed meanwhile. */
  settle(result: WorkResult): void {
    assert(!this.settled, 'a work is settled once');
    this.settled = true;
    if (!this.call.closed) this.#onSettled(result);
  }
}

/**
 * One client call. Input memory returns when the call is closed and no runner reads it any more: a client that leaves
 * in the middle of a run must not free what the runner still has mapped.
 */
export class HostCall implements Call {
  readonly #target: CallTarget;
  readonly #now: () => Instant;
  readonly #context: CallContext;
  readonly #deadline: Instant;
  readonly #arrival: Arrival | undefined;
  readonly #works: PendingWork[] = [];
  #spans: Span[] = [];
  #reports: SharedReport[] = [];
  /** Batches now with a runner that read this call's memory. */
  #running = 0;
  #closed = false;

  constructor(target: CallTarget, context: CallContext, timing: CallTiming) {
    this.#target = target;
    this.#context = context;
    this.#deadline = timing.deadline;
    this.#now = timing.now;
    this.#arrival = timing.arrival;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get context(): CallContext {
    return this.#context;
  }

  reserve(byteLength: number): Block {
    assert(!this.#closed, 'a closed call reserves nothing');
    const { arena } = this.#target;
    const span = arena.allocate(byteLength);
    if (!span) throw refusal(byteLength, arena);
    this.#spans.push(span);
    return { span, bytes: arena.bytes.subarray(span.offset, span.offset + byteLength) };
  }

  release(block: Block): void {
    const at = this.#spans.lastIndexOf(block.span);
    assert(at >= 0, 'a block is released by the call that reserved it');
    this.#spans.splice(at, 1);
    this.#target.arena.free(block.span);
  }

  submit(
    request: WorkRequest,
    onSettled: (result: WorkResult) => void,
    onPiece?: (piece: StreamPiece) => void,
  ): void {
    assert(!this.#closed, 'a closed call submits nothing');
    this.#arrival?.end();
    const gathered = onPiece ? undefined : this.#target.gather(request.want);
    const pending: PendingWork = new PendingWork(
      this,
      request,
      { enqueuedAt: this.#now(), deadline: this.#deadline },
      gathered
        ? {
            onPiece: (piece) => {
              if (!gathered.take(piece)) this.#target.cancel(pending);
            },
            onSettled: (result) => onSettled(gathered.result(result)),
          }
        : { onSettled, onPiece },
    );
    this.#works.push(pending);
    this.#target.submit(pending);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#arrival?.end();
    for (const work of this.#works) if (!work.settled) this.#target.cancel(work);
    for (const report of this.#reports) report.drop();
    this.#reports = [];
    this.#target.callClosed();
    this.#freeWhenIdle();
  }

  /** A runner starts to read this call's memory. */
  batchStarted(): void {
    this.#running += 1;
  }

  /** The runner is done with it, or dead. */
  batchEnded(): void {
    this.#running -= 1;
    assert(this.#running >= 0, 'a batch ends once for each call in it');
    this.#freeWhenIdle();
  }

  /** Keeps output memory until the call is closed. */
  hold(report: SharedReport): void {
    if (this.#closed) report.drop();
    else this.#reports.push(report);
  }

  #freeWhenIdle(): void {
    if (!this.#closed || this.#running > 0) return;
    for (const span of this.#spans) this.#target.arena.free(span);
    this.#spans = [];
  }
}

function refusal(byteLength: number, arena: Arena): GimbalError {
  if (byteLength > arena.capacity) {
    return new GimbalError(
      'INPUT_TOO_LARGE',
      `Cannot take the input: it needs ${byteLength} bytes, expected at most ${arena.capacity}`,
    );
  }
  return new GimbalError(
    'OVERLOADED',
    `Cannot take the input: the memory for waiting requests is full (${arena.used} of ${arena.capacity} bytes), expected room for ${byteLength}`,
    { retryAfterMs: 1000 },
  );
}
