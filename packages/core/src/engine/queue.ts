import { assert } from '../base/assert.ts';
import type { Instant } from '../base/time.ts';
import type { Criticality } from '../contract/inference-port.ts';
import { Heap } from './heap.ts';
import type { Work } from './work.ts';
import { WorkList } from './work-list.ts';

/** Served in this order. */
export const LANES: readonly Criticality[] = ['critical', 'default', 'sheddable'];

class Lane<Payload> {
  /** Lists that have works, by the turn of their oldest. */
  readonly lists = new Heap<WorkList<Payload>>();
  works = 0;
  rows = 0;
}

class Bucket<Payload> {
  readonly lists: Readonly<Record<Criticality, WorkList<Payload>>> = {
    critical: new WorkList(),
    default: new WorkList(),
    sheddable: new WorkList(),
  };
  works = 0;
  rows = 0;
}

/**
 * The works that wait for one pool. Lanes go by criticality; inside a lane the oldest work is first, whatever its
 * bucket, and companions of its bucket join it in order of age: no bucket can starve another. Entering and leaving is
 * O(log buckets); a bucket is forgotten with its last work, since clients choose the shapes that make buckets.
 */
export class WorkQueue<Payload> {
  readonly #lanes: Readonly<Record<Criticality, Lane<Payload>>> = {
    critical: new Lane(),
    default: new Lane(),
    sheddable: new Lane(),
  };
  readonly #buckets = new Map<string, Bucket<Payload>>();
  #maxRows = 1;
  #works = 0;
  #rows = 0;
  #bytes = 0;
  #runs = 0;
  #lastTurn = 0;

  get works(): number {
    return this.#works;
  }

  get rows(): number {
    return this.#rows;
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
    return this.#lanes[lane].lists.first?.first?.enqueuedAt;
  }

  /** Rows waiting in a bucket, over all lanes. */
  rowsIn(bucket: string): number {
    return this.#buckets.get(bucket)?.rows ?? 0;
  }

  /** Rows that are served before a new work of the lane. */
  rowsBefore(lane: Criticality): number {
    let rows = 0;
    for (const name of LANES) {
      rows += this.#lanes[name].rows;
      if (name === lane) break;
    }
    return rows;
  }

  push(work: Work<Payload>): void {
    let bucket = this.#buckets.get(work.bucket);
    if (!bucket) {
      bucket = new Bucket();
      this.#buckets.set(work.bucket, bucket);
    }
    const lane = this.#lanes[work.lane];
    const list = bucket.lists[work.lane];
    this.#lastTurn += 1;
    work.turn = this.#lastTurn;
    const wasEmpty = list.first === undefined;
    list.append(work);
    if (wasEmpty) lane.lists.add(list);
    lane.works += 1;
    bucket.works += 1;
    this.#works += 1;
    this.#bytes += work.bytes;
    this.#count(bucket, lane, work.waitingRows);
  }

  /** The work to serve next: the oldest of the most critical lane. */
  front(): Work<Payload> | undefined {
    for (const name of LANES) {
      const list = this.#lanes[name].lists.first;
      if (list) return list.first;
    }
    return undefined;
  }

  /** The next work of a bucket, most critical lane first. */
  frontOf(bucket: string): Work<Payload> | undefined {
    const found = this.#buckets.get(bucket);
    if (!found) return undefined;
    const { critical, default: ordinary, sheddable } = found.lists;
    return critical.first ?? ordinary.first ?? sheddable.first;
  }

  /** `rows` of a waiting work went to a batch: its `nextRow` is past them. It leaves with its last row. */
  took(work: Work<Payload>, rows: number): void {
    this.#leave(work, { rows, wholly: work.waitingRows === 0 });
  }

  /** A waiting work leaves without running. The caller sets its status. */
  removed(work: Work<Payload>): void {
    this.#leave(work, { rows: work.waitingRows, wholly: true });
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

  #leave(work: Work<Payload>, left: { rows: number; wholly: boolean }): void {
    const bucket = this.#buckets.get(work.bucket);
    const { list } = work;
    assert(bucket && list, 'only a work that waits leaves the queue');
    const lane = this.#lanes[work.lane];
    this.#count(bucket, lane, -left.rows);
    if (!left.wholly) return;
    const wasFirst = list.first === work;
    list.remove(work);
    if (list.first === undefined) lane.lists.remove(list);
    else if (wasFirst) lane.lists.moved(list);
    lane.works -= 1;
    bucket.works -= 1;
    this.#works -= 1;
    this.#bytes -= work.bytes;
    if (bucket.works === 0) this.#buckets.delete(work.bucket);
  }

  #count(bucket: Bucket<Payload>, lane: Lane<Payload>, rows: number): void {
    this.#runs -= Math.ceil(bucket.rows / this.#maxRows);
    bucket.rows += rows;
    this.#runs += Math.ceil(bucket.rows / this.#maxRows);
    lane.rows += rows;
    this.#rows += rows;
  }
}
