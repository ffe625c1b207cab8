import type { Instant } from '../base/time.ts';
import type { Criticality } from '../contract/inference-port.ts';
import type { PartReport } from '../contract/runner-port.ts';

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
  readonly payload: Payload;
}

/** A report of some of a work's rows. */
export interface RowsReported {
  readonly firstRow: number;
  readonly report: PartReport;
}

/**
 * One request's unit of work inside the engine. `queued` until all its rows are with runners, `running` until they are
 * back, `settled` from the moment its outcome was told: exactly once, whatever happens afterwards.
 */
export class Work<Payload> {
  readonly version: string;
  readonly rows: number;
  readonly bucket: string;
  readonly splittable: boolean;
  readonly lane: Criticality;
  readonly enqueuedAt: Instant;
  readonly deadline: Instant;
  readonly payload: Payload;
  status: 'queued' | 'running' | 'settled' = 'queued';
  /** Rows handed to batches so far. */
  nextRow = 0;
  /** Rung whose queue it waits in. */
  rung = 0;
  /** Parts that runners have now. */
  openParts = 0;
  /** When its first rows went to a runner. */
  startedAt: Instant = 0;
  reported: RowsReported[] = [];

  constructor(options: WorkOptions<Payload>) {
    this.version = options.version;
    this.rows = options.rows;
    this.bucket = options.bucket;
    this.splittable = options.splittable;
    this.lane = options.lane;
    this.enqueuedAt = options.enqueuedAt;
    this.deadline = options.deadline;
    this.payload = options.payload;
  }

  get waitingRows(): number {
    return this.rows - this.nextRow;
  }
}
