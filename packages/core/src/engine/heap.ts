/** What can be kept in a heap; the heap writes `heapIndex`. */
export interface HeapEntry {
  /** Smallest first. Changed only between `remove` and `add`, or followed by `moved`. */
  readonly heapKey: number;
  /** Position in the heap; `OUTSIDE` when in none. */
  heapIndex: number;
}

export const OUTSIDE = -1;

/** A binary heap that knows where its entries are, so that any of them leaves in O(log n) and nothing dead stays. */
export class Heap<Entry extends HeapEntry> {
  readonly #entries: Entry[] = [];

  get size(): number {
    return this.#entries.length;
  }

  get first(): Entry | undefined {
    return this.#entries[0];
  }

  add(entry: Entry): void {
    this.#entries.push(entry);
    this.#up(entry, this.#entries.length - 1);
  }

  /** Nothing happens when the entry is in no heap. */
  remove(entry: Entry): void {
    const index = entry.heapIndex;
    if (index === OUTSIDE) return;
    entry.heapIndex = OUTSIDE;
    const last = this.#entries.pop();
    if (last === undefined || last === entry) return;
    last.heapIndex = index;
    this.#entries[index] = last;
    this.moved(last);
  }

  /** The entry's key has changed. */
  moved(entry: Entry): void {
    this.#up(entry, entry.heapIndex);
    this.#down(entry, entry.heapIndex);
  }

  #up(entry: Entry, from: number): void {
    let index = from;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#entries[parentIndex] as Entry;
      if (parent.heapKey <= entry.heapKey) break;
      this.#put(parent, index);
      index = parentIndex;
    }
    this.#put(entry, index);
  }

  #down(entry: Entry, from: number): void {
    const entries = this.#entries;
    let index = from;
    for (;;) {
      const left = 2 * index + 1;
      if (left >= entries.length) break;
      const right = left + 1;
      let childIndex = left;
      if (right < entries.length && at(entries, right).heapKey < at(entries, left).heapKey)
        childIndex = right;
      const child = at(entries, childIndex);
      if (child.heapKey >= entry.heapKey) break;
      this.#put(child, index);
      index = childIndex;
    }
    this.#put(entry, index);
  }

  #put(entry: Entry, index: number): void {
    this.#entries[index] = entry;
    entry.heapIndex = index;
  }
}

/** Indices are inside by construction; a check would cost more than the comparison. */
function at<Entry>(entries: readonly Entry[], index: number): Entry {
  return entries[index] as Entry;
}
