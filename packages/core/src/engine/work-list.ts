import { type HeapEntry, OUTSIDE } from './heap.ts';
import type { Work } from './work.ts';

/**
 * The waiting works of one bucket in one lane, oldest first. The links are in the works themselves: any of them leaves
 * in O(1), and one that has left is held by nothing.
 */
export class WorkList<Payload> implements HeapEntry {
  first: Work<Payload> | undefined = undefined;
  #last: Work<Payload> | undefined = undefined;
  heapIndex = OUTSIDE;

  /** Lists of a lane are kept by the turn of their oldest work. */
  get heapKey(): number {
    return this.first?.turn ?? 0;
  }

  append(work: Work<Payload>): void {
    work.list = this;
    work.older = this.#last;
    if (this.#last) this.#last.younger = work;
    else this.first = work;
    this.#last = work;
  }

  remove(work: Work<Payload>): void {
    const { older, younger } = work;
    if (older) older.younger = younger;
    else this.first = younger;
    if (younger) younger.older = older;
    else this.#last = older;
    work.older = undefined;
    work.younger = undefined;
    work.list = undefined;
  }
}
