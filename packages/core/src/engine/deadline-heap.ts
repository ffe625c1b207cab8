import { Heap, type HeapOrder } from './heap.ts';
import type { Work } from './work.ts';

/** Works by their deadlines, the nearest first. */
export function deadlineHeap<Payload>(): Heap<Work<Payload>> {
  return new Heap<Work<Payload>>(BY_DEADLINE);
}

const BY_DEADLINE: HeapOrder<Work<unknown>> = {
  before: (one, other) => one.deadline < other.deadline,
  seatOf: (work) => work.deadlineSeat,
  seat: (work, index) => {
    work.deadlineSeat = index;
  },
};
