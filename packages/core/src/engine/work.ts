import type { Instant } from '../base/time.ts';
import type { Criticality } from '../contract/inference-port.ts';
import type { PartReport } from '../contract/runner-port.ts';
import type { DegradationReason } from '../contract/work.ts';
import type { RunEnd } from '../policy/quarantine/verdict.ts';
import type { Flow } from './flow.ts';
import { OUTSIDE } from './heap.ts';
import type { WorkList } from './work-list.ts';

/**
 * `any` rung of the ladder; `best-first`: the best that can take work, whatever the shares; `best-only`: the best, or a
 * refusal.
 */
export type QualityDemand = 'any' | 'best-first' | 'best-only';

/** What a work is made of when it is submitted. `Payload` is the host's own and never looked into. */
export interface WorkOptions<Payload> {
  /** Key of the version that it is for. */
  readonly version: string;
  readonly rows: number;
  /** Only works of one bucket may share a batch: ragged shapes are never mixed. */
  readonly bucket: string;
  /** Whether the work's rows may run in several batches. */
  readonly splittable: boolean;
  readonly lane: Criticality;
  /** Whose it is: tenants share time. Default: one for all. */
  readonly tenant?: string;
  /** Works of about the same cost a row, such as pictures of about the same size. Default: 0. */
  readonly costClass?: number;
  readonly enqueuedAt: Instant;
  readonly deadline: Instant;
  /** Whether the caller said how long it waits; otherwise it may have gone long before the deadline. Default: true. */
  readonly deadlineTold?: boolean;
  /** Whether it may be run again after a runner was lost with it. Default: true. */
  readonly repeatable?: boolean;
  /** Its outputs come in pieces: its deadline is the first one's. Default: false. */
  readonly streams?: boolean;
  /** Which rungs will do. Default: any. */
  readonly quality?: QualityDemand;
  /** Memory that it holds while it waits, for the queue's bound. Default: 0, where an arena bounds it already. */
  readonly bytes?: number;
  readonly payload: Payload;
}

/** A report of some of a work's rows. */
export interface RowsReported {
  readonly firstRow: number;
  readonly report: PartReport;
}

/**
 * `queued` while rows wait for a runner, `running` when all are with runners, `settled` from the moment its outcome was
 * told: exactly once, whatever happens afterwards.
 */
export type WorkStatus = 'queued' | 'running' | 'settled';

/** No work is overtaken for longer than this by others with earlier deadlines. */
const MAX_PATIENCE_MS = 10_000;

/** Rows of a work. */
export interface RowRange {
  readonly firstRow: number;
  readonly rows: number;
}

/** One request's unit of work inside the engine. Its mutable part belongs to the engine: hosts only read it. */
export class Work<Payload> {
  readonly version: string;
  readonly rows: number;
  readonly splittable: boolean;
  readonly lane: Criticality;
  readonly tenant: string;
  readonly costClass: number;
  readonly enqueuedAt: Instant;
  /** Of a stream that has begun: when it must be complete. */
  deadline: Instant;
  /** When it is due among others: its deadline, but nobody is overtaken for ever. */
  readonly urgency: Instant;
  readonly deadlineTold: boolean;
  readonly repeatable: boolean;
  readonly streams: boolean;
  readonly quality: QualityDemand;
  /** Why it waits for a lower rung. */
  degradedBecause: DegradationReason | undefined = undefined;
  readonly bytes: number;
  readonly payload: Payload;
  /** Only works of one bucket share a batch; one that is suspected of crashing runners gets a bucket of its own. */
  bucket: string;
  status: WorkStatus = 'queued';
  /** It was run again on another rung or runner after a failure that was not its own. */
  wentElsewhere = false;
  /** Set when it is a golden input that a breaker asked for. */
  probe: { readonly rung: number; readonly ticket: number } | undefined = undefined;
  /** Its bytes count as held. */
  admitted = false;
  /** Rows handed to batches so far, but for those in `again`. */
  nextRow = 0;
  /** Rows that were with a runner and are to be run again. */
  readonly again: RowRange[] = [];
  /** Rung whose queue it waits in. */
  rung = 0;
  /** Cost of a row in rows of the pool's profile, as known when it was queued. */
  unitsPerRow = 1;
  /** Wait that admission foresaw. */
  predictedWaitMs = 0;
  /** Parts that runners have now. */
  openParts = 0;
  /** When its first rows went to a runner. */
  startedAt: Instant = 0;
  /** How its runs with runners that were lost ended; empty for nearly all works. */
  readonly ends: RunEnd[] = [];
  readonly reported: RowsReported[] = [];
  /** Pieces of a stream so far, and their bytes. From the first one on it can't be run again. */
  pieces = 0;
  pieceBytes = 0;

  // Written by the queue: where it waits, its neighbours there, and its turn.
  flow: Flow<Payload> | undefined = undefined;
  list: WorkList<Payload> | undefined = undefined;
  older: Work<Payload> | undefined = undefined;
  younger: Work<Payload> | undefined = undefined;
  turn = 0;
  urgencySeat = OUTSIDE;
  demandSlot = 0;

  // Written by the heap of deadlines.
  deadlineSeat = OUTSIDE;

  constructor(options: WorkOptions<Payload>) {
    this.version = options.version;
    this.rows = options.rows;
    this.bucket = options.bucket;
    this.splittable = options.splittable;
    this.lane = options.lane;
    this.tenant = options.tenant ?? '';
    this.costClass = options.costClass ?? 0;
    this.enqueuedAt = options.enqueuedAt;
    this.deadline = options.deadline;
    this.urgency = urgencyOf(options.enqueuedAt, options.deadline);
    this.deadlineTold = options.deadlineTold ?? true;
    this.repeatable = options.repeatable ?? true;
    this.streams = options.streams ?? false;
    this.quality = options.quality ?? 'any';
    this.bytes = options.bytes ?? 0;
    this.payload = options.payload;
  }

  get waitingRows(): number {
    let rows = this.rows - this.nextRow;
    for (const range of this.again) rows += range.rows;
    return rows;
  }

  /** Cost of the rows that wait. */
  get units(): number {
    return this.waitingRows * this.unitsPerRow;
  }
}

/** When a work that comes now is due among others. */
export function urgencyOf(now: Instant, deadline: Instant): Instant {
  return Math.min(deadline, now + MAX_PATIENCE_MS);
}
