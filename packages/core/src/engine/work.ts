import type { Instant } from '../base/time.ts';
import type { Criticality } from '../contract/inference-port.ts';
import type { PartReport } from '../contract/runner-port.ts';
import { type HeapEntry, OUTSIDE } from './heap.ts';
import type { WorkList } from './work-list.ts';

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
  readonly enqueuedAt: Instant;
  readonly deadline: Instant;
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

/** One request's unit of work inside the engine. Its mutable part belongs to the engine: hosts only read it. */
export class Work<Payload> implements HeapEntry {
  readonly version: string;
  readonly rows: number;
  readonly bucket: string;
  readonly splittable: boolean;
  readonly lane: Criticality;
  readonly enqueuedAt: Instant;
  readonly deadline: Instant;
  readonly bytes: number;
  readonly payload: Payload;
  status: WorkStatus = 'queued';
  /** Rows handed to batches so far. */
  nextRow = 0;
  /** Rung whose queue it waits in. */
  rung = 0;
  /** Parts that runners have now. */
  openParts = 0;
  /** When its first rows went to a runner. */
  startedAt: Instant = 0;
  readonly reported: RowsReported[] = [];

  // Written by the queue: the list that it waits in, its neighbours there, and its turn.
  list: WorkList<Payload> | undefined = undefined;
  older: Work<Payload> | undefined = undefined;
  younger: Work<Payload> | undefined = undefined;
  turn = 0;

  // Written by the heap of deadlines.
  heapIndex = OUTSIDE;

  constructor(options: WorkOptions<Payload>) {
    this.version = options.version;
    this.rows = options.rows;
    this.bucket = options.bucket;
    this.splittable = options.splittable;
    this.lane = options.lane;
    this.enqueuedAt = options.enqueuedAt;
    this.deadline = options.deadline;
    this.bytes = options.bytes ?? 0;
    this.payload = options.payload;
  }

  get waitingRows(): number {
    return this.rows - this.nextRow;
  }

  /** Open works are kept by deadline. */
  get heapKey(): number {
    return this.deadline;
  }
}
