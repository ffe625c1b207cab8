import type { Instant } from '../base/time.ts';
import type { Criticality } from '../contract/inference-port.ts';
import type { Work } from './work.ts';

/** Served in this order. */
export const LANES: readonly Criticality[] = ['critical', 'default', 'sheddable'];

/** Dead entries at the front of a list that are worth a compaction. */
const COMPACT_AFTER = 1024;

/** First in, first out, with lazy removal: an entry that is no longer waiting is passed over when it reaches the front. */
class Fifo<Payload> {
  #entries: (Work<Payload> | undefined)[] = [];
  #head = 0;

  push(work: Work<Payload>): void {
    this.#entries.push(work);
  }

  /** The oldest work that still waits. */
  front(): Work<Payload> | undefined {
    while (this.#head < this.#entries.length) {
      const work = this.#entries[this.#head];
      if (work && work.status === 'queued') return work;
      this.#entries[this.#head] = undefined;
      this.#head += 1;
      this.#compact();
    }
    if (this.#head > 0) {
      this.#entries = [];
      this.#head = 0;
    }
    return undefined;
  }

  *waiting(): Generator<Work<Payload>> {
    for (let index = this.#head; index < this.#entries.length; index += 1) {
      const work = this.#entries[index];
      if (work && work.status === 'queued') yield work;
    }
  }

  get length(): number {
    return this.#entries.length - this.#head;
  }

  #compact(): void {
    if (this.#head < COMPACT_AFTER || this.#head * 2 < this.#entries.length) return;
    this.#entries = this.#entries.slice(this.#head);
    this.#head = 0;
  }
}

class Lane<Payload> {
  /** All works of the lane by age; each is also in its bucket's list. */
  readonly all = new Fifo<Payload>();
  readonly buckets = new Map<string, Fifo<Payload>>();
  works = 0;
}

/**
 * The works that wait for one pool. Lanes go by criticality; inside a lane the oldest work is first, and companions of
 * its bucket join it in order of age. Everything is O(1) amortised; a bucket's list goes when it is empty.
 */
export class WorkQueue<Payload> {
  readonly #lanes: Record<Criticality, Lane<Payload>> = {
    critical: new Lane(),
    default: new Lane(),
    sheddable: new Lane(),
  };
  readonly #bucketRows = new Map<string, number>();
  #works = 0;
  #rows = 0;

  get works(): number {
    return this.#works;
  }

  get rows(): number {
    return this.#rows;
  }

  depth(lane: Criticality): number {
    return this.#lanes[lane].works;
  }

  /** When the oldest work of a lane was queued. */
  oldest(lane: Criticality): Instant | undefined {
    return this.#lanes[lane].all.front()?.enqueuedAt;
  }

  /** Rows waiting in a bucket, over all lanes. */
  rowsIn(bucket: string): number {
    return this.#bucketRows.get(bucket) ?? 0;
  }

  push(work: Work<Payload>): void {
    const lane = this.#lanes[work.lane];
    lane.all.push(work);
    let bucket = lane.buckets.get(work.bucket);
    if (!bucket) {
      bucket = new Fifo();
      lane.buckets.set(work.bucket, bucket);
    }
    bucket.push(work);
    lane.works += 1;
    this.#works += 1;
    this.#count(work, work.waitingRows);
  }

  /** The work to serve next: the oldest of the most critical lane. */
  front(): Work<Payload> | undefined {
    for (const lane of LANES) {
      const { works, all } = this.#lanes[lane];
      if (works === 0) continue;
      const work = all.front();
      if (work) return work;
    }
    return undefined;
  }

  /** The next work of a bucket, most critical lane first. */
  frontOf(bucket: string): Work<Payload> | undefined {
    for (const name of LANES) {
      const lane = this.#lanes[name];
      const list = lane.buckets.get(bucket);
      if (!list) continue;
      const work = list.front();
      if (work) return work;
      lane.buckets.delete(bucket);
    }
    return undefined;
  }

  /** `rows` of a waiting work go to a batch. The caller sets the status when none is left. */
  took(work: Work<Payload>, rows: number): void {
    this.#count(work, -rows);
    if (work.waitingRows === 0) this.#left(work);
  }

  /** A waiting work leaves without running. The caller sets its status. */
  removed(work: Work<Payload>): void {
    this.#count(work, -work.waitingRows);
    this.#left(work);
  }

  /** Empties the queue and returns what waited in it, to be queued elsewhere. */
  takeAll(): Work<Payload>[] {
    const works = [...this.waiting()];
    for (const lane of LANES) this.#lanes[lane] = new Lane();
    this.#bucketRows.clear();
    this.#works = 0;
    this.#rows = 0;
    return works;
  }

  *waiting(): Generator<Work<Payload>> {
    for (const lane of LANES) yield* this.#lanes[lane].all.waiting();
  }

  #left(work: Work<Payload>): void {
    this.#lanes[work.lane].works -= 1;
    this.#works -= 1;
  }

  #count(work: Work<Payload>, rows: number): void {
    this.#rows += rows;
    const inBucket = (this.#bucketRows.get(work.bucket) ?? 0) + rows;
    if (inBucket > 0) this.#bucketRows.set(work.bucket, inBucket);
    else this.#bucketRows.delete(work.bucket);
  }
}
