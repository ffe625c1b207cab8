/** How entries are ordered in one heap, and where each keeps its place in it: an entry may be in several heaps. */
export interface HeapOrder<Entry> {
  /** Changed only between `remove` and `add`, or followed by `moved`. */
  before(one: Entry, other: Entry): boolean;
  /** Position in the heap; `OUTSIDE` when not in it. */
  seatOf(entry: Entry): number;
  seat(entry: Entry, index: number): void;
}

export const OUTSIDE = -1;

/** A binary heap that knows where its entries are, so that any of them leaves in O(log n) and nothing dead stays. */
export class Heap<Entry> {
  readonly #entries: Entry[] = [];
  readonly #order: HeapOrder<Entry>;

  constructor(order: HeapOrder<Entry>) {
    this.#order = order;
  }

  get size(): number {
    return this.#entries.length;
  }

  get first(): Entry | undefined {
    return this.#entries[0];
  }

  /** In no order. */
  [Symbol.iterator](): Iterator<Entry> {
    return this.#entries[Symbol.iterator]();
  }

  add(entry: Entry): void {
    this.#entries.push(entry);
    this.#up(entry, this.#entries.length - 1);
  }

  /** Nothing happens when the entry is not in the heap. */
  remove(entry: Entry): void {
    const index = this.#order.seatOf(entry);
    if (index === OUTSIDE) return;
    this.#order.seat(entry, OUTSIDE);
    const last = this.#entries.pop();
    if (last === undefined || last === entry) return;
    this.#order.seat(last, index);
    this.#entries[index] = last;
    this.moved(last);
  }

  /** The entry's place in the order has changed. */
  moved(entry: Entry): void {
    this.#up(entry, this.#order.seatOf(entry));
    this.#down(entry, this.#order.seatOf(entry));
  }

  #up(entry: Entry, from: number): void {
    let index = from;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#entries[parentIndex] as Entry;
      if (!this.#order.before(entry, parent)) break;
      this.#put(parent, index);
      index = parentIndex;
    }
    this.#put(entry, index);
  }

  #down(entry: Entry, from: number): void {
    const entries = this.#entries;
    const order = this.#order;
    let index = from;
    for (;;) {
      const left = 2 * index + 1;
      if (left >= entries.length) break;
      const right = left + 1;
      let childIndex = left;
      if (right < entries.length && order.before(at(entries, right), at(entries, left))) childIndex = right;
      const child = at(entries, childIndex);
      if (!order.before(child, entry)) break;
      this.#put(child, index);
      index = childIndex;
    }
    this.#put(entry, index);
  }

  #put(entry: Entry, index: number): void {
    this.#entries[index] = entry;
    this.#order.seat(entry, index);
  }
}

/** Indices are inside by construction; a check would cost more than the comparison. */
function at<Entry>(entries: readonly Entry[], index: number): Entry {
  return entries[index] as Entry;
}
