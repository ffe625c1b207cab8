import { assert } from '../base/assert.ts';
import type { Instant } from '../base/time.ts';
import type { Criticality } from '../contract/inference-port.ts';
import { type Asked, type AskedUnits, Lane } from './lane.ts';
import type { Work } from './work.ts';

/** Served in this order. */
export const LANES: readonly Criticality[] = ['critical', 'default', 'sheddable'];

interface Bucket {
  works: number;
  rows: number;
}

/** Rows of a work that leave the queue. */
interface Left {
  readonly rows: number;
  readonly wholly: boolean;
  /** To a runner, so that they count for its tenant's share. */
  readonly served: boolean;
}

/**
 * The works that wait for one pool. Lanes go by criticality; inside a lane time is shared by tenants and cost classes, and
 * inside such a flow the most urgent work is first, whatever its bucket: no bucket can starve another. Companions of its
 * bucket join it in the same order. A bucket is forgotten with its last work, since clients choose the shapes that make
 * buckets.
 */
export class WorkQueue<Payload> {
  readonly #lanes: Readonly<Record<Criticality, Lane<Payload>>> = {
    critical: new Lane(),
    default: new Lane(),
    sheddable: new Lane(),
  };
  readonly #buckets = new Map<string, Bucket>();
  #maxRows = 1;
  #works = 0;
  #rows = 0;
  #units = 0;
  #bytes = 0;
  #runs = 0;
  #lastTurn = 0;

  get works(): number {
    return this.#works;
  }

  get rows(): number {
    return this.#rows;
  }

  /** Cost of the rows that wait, in rows of the profile. */
  get units(): number {
    return this.#units;
  }

  /** Memory held by the works that wait. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Runs that the waiting rows need: rows of different buckets don't share one. */
  get runs(): number {
    return this.#runs;
  }

  /** Buckets that works wait in. */
  get buckets(): number {
    return this.#buckets.size;
  }

  /** Most rows in one run, which `runs` depends on. */
  set maxRows(maxRows: number) {
    this.#maxRows = maxRows;
    this.#runs = 0;
    for (const { rows } of this.#buckets.values()) this.#runs += Math.ceil(rows / maxRows);
  }

  depth(lane: Criticality): number {
    return this.#lanes[lane].works;
  }

  /** When the oldest work of a lane was queued. */
  oldest(lane: Criticality): Instant | undefined {
    return this.oldestWork(lane)?.enqueuedAt;
  }

  /** The work of a lane that was queued first. */
  oldestWork(lane: Criticality): Work<Payload> | undefined {
    return this.#lanes[lane].oldest();
  }

  /** Cost of what waits in a lane and in those above it. */
  unitsUpTo(lane: Criticality): number {
    return this.#unitsOfHigherLanes(lane) + this.#lanes[lane].units;
  }

  /** Serves the youngest of a lane first, or the most urgent again. */
  setNewestFirst(lane: Criticality, newestFirst: boolean): void {
    this.#lanes[lane].newestFirst = newestFirst;
  }

  /** Rows waiting in a bucket, over all lanes. */
  rowsIn(bucket: string): number {
    return this.#buckets.get(bucket)?.rows ?? 0;
  }

  /** Units that are served before a new work. */
  unitsBefore(asked: Asked & { readonly lane: Criticality }, more: AskedUnits): number {
    if (this.#works === 0) return 0;
    return this.#unitsOfHigherLanes(asked.lane) + this.#lanes[asked.lane].unitsBefore(asked, more);
  }

  /** Whether what is due after a new work, in its own flow, still fits: `fits` is told the units served by then. */
  laterFits(
    asked: Asked & { readonly lane: Criticality },
    units: number,
    fits: (units: number, by: Instant) => boolean,
  ): boolean {
    if (this.#works === 0) return true;
    const higher = this.#unitsOfHigherLanes(asked.lane);
    return this.#lanes[asked.lane].laterFits(asked, units, (before, by) => fits(higher + before, by));
  }

  push(work: Work<Payload>): void {
    const bucket = this.#buckets.get(work.bucket) ?? { works: 0, rows: 0 };
    if (bucket.works === 0) this.#buckets.set(work.bucket, bucket);
    this.#lastTurn += 1;
    work.turn = this.#lastTurn;
    const lane = this.#lanes[work.lane];
    lane.push(work);
    lane.rows += work.waitingRows;
    bucket.works += 1;
    this.#works += 1;
    this.#units += work.units;
    this.#bytes += work.bytes;
    this.#count(bucket, work.waitingRows);
  }

  /** The work to serve next. */
  front(): Work<Payload> | undefined {
    return this.#next();
  }

  /** The next work of a bucket. */
  frontOf(bucket: string): Work<Payload> | undefined {
    return this.#buckets.has(bucket) ? this.#next(bucket) : undefined;
  }

  /** `rows` of a waiting work went to a batch: its `nextRow` is past them. It leaves with its last row. */
  took(work: Work<Payload>, rows: number): void {
    this.#leave(work, { rows, wholly: work.waitingRows === 0, served: true });
  }

  /** A waiting work leaves without running. The caller sets its status. */
  removed(work: Work<Payload>): void {
    this.#leave(work, { rows: work.waitingRows, wholly: true, served: false });
  }

  /** Empties the queue and returns what waited in it, in the order of service, to be queued elsewhere. */
  takeAll(): Work<Payload>[] {
    const works: Work<Payload>[] = [];
    for (let work = this.front(); work; work = this.front()) {
      this.removed(work);
      works.push(work);
    }
    return works;
  }

  #next(bucket?: string): Work<Payload> | undefined {
    for (const name of LANES) {
      const lane = this.#lanes[name];
      const work = lane.works > 0 ? lane.next(bucket) : undefined;
      if (work) return work;
    }
    return undefined;
  }

  #unitsOfHigherLanes(lane: Criticality): number {
    let units = 0;
    for (const name of LANES) {
      if (name === lane) break;
      units += this.#lanes[name].units;
    }
    return units;
  }

  #leave(work: Work<Payload>, { rows, wholly, served }: Left): void {
    const bucket = this.#buckets.get(work.bucket);
    assert(bucket && work.list, 'only a work that waits leaves the queue');
    const lane = this.#lanes[work.lane];
    const units = rows * work.unitsPerRow;
    lane.left(work, { units, wholly, served });
    lane.rows -= rows;
    this.#units -= units;
    this.#count(bucket, -rows);
    if (!wholly) return;
    bucket.works -= 1;
    this.#works -= 1;
    this.#bytes -= work.bytes;
    if (bucket.works === 0) this.#buckets.delete(work.bucket);
    // Sums of floating numbers drift; nothing waits now.
    if (this.#works === 0) this.#units = 0;
  }

  #count(bucket: Bucket, rows: number): void {
    this.#runs -= Math.ceil(bucket.rows / this.#maxRows);
    bucket.rows += rows;
    this.#runs += Math.ceil(bucket.rows / this.#maxRows);
    this.#rows += rows;
  }
}
