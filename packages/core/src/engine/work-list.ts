import { Heap, type HeapOrder, OUTSIDE } from './heap.ts';
import type { Work } from './work.ts';

/**
 * The waiting works of one bucket in one flow, by urgency and by age. The links of the second order are in the works
 * themselves: any of them leaves quickly, and one that has left is held by nothing.
 */
export class WorkList<Payload> {
  readonly bucket: string;
  readonly #byUrgency: Heap<Work<Payload>> = new Heap<Work<Payload>>(MOST_URGENT);
  /** By when they came. */
  oldest: Work<Payload> | undefined = undefined;
  newest: Work<Payload> | undefined = undefined;
  /** Seat in the heap of the flow's lists. */
  seat = OUTSIDE;

  constructor(bucket: string) {
    this.bucket = bucket;
  }

  /** The most urgent. */
  get first(): Work<Payload> | undefined {
    return this.#byUrgency.first;
  }

  [Symbol.iterator](): Iterator<Work<Payload>> {
    return this.#byUrgency[Symbol.iterator]();
  }

  append(work: Work<Payload>): void {
    work.list = this;
    work.older = this.newest;
    if (this.newest) this.newest.younger = work;
    else this.oldest = work;
    this.newest = work;
    this.#byUrgency.add(work);
  }

  remove(work: Work<Payload>): void {
    const { older, younger } = work;
    if (older) older.younger = younger;
    else this.oldest = younger;
    if (younger) younger.older = older;
    else this.newest = older;
    work.older = undefined;
    work.younger = undefined;
    work.list = undefined;
    this.#byUrgency.remove(work);
  }
}

/** Of equal urgency the one that came first, so that equal deadlines are served in order of age. */
export function isMoreUrgent(one: Work<unknown>, other: Work<unknown>): boolean {
  return one.urgency === other.urgency ? one.turn < other.turn : one.urgency < other.urgency;
}

const MOST_URGENT: HeapOrder<Work<unknown>> = {
  before: isMoreUrgent,
  seatOf: (work) => work.urgencySeat,
  seat: (work, index) => {
    work.urgencySeat = index;
  },
};
