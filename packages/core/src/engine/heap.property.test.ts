import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Heap, type HeapOrder, OUTSIDE } from './heap.ts';

interface Entry {
  heapKey: number;
  heapIndex: number;
}

const BY_KEY: HeapOrder<Entry> = {
  before: (one, other) => one.heapKey < other.heapKey,
  seatOf: (entry) => entry.heapIndex,
  seat: (entry, index) => {
    entry.heapIndex = index;
  },
};

const commands = fc.array(
  fc.record({
    kind: fc.constantFrom('add', 'add', 'remove', 'move'),
    key: fc.integer({ min: 0, max: 50 }),
    pick: fc.nat(),
  }),
  { maxLength: 200 },
);

describe('Heap', () => {
  it('has the smallest key first, whatever was added, removed and moved', () => {
    fc.assert(
      fc.property(commands, (list) => {
        const heap = new Heap<Entry>(BY_KEY);
        const inside: Entry[] = [];
        for (const { kind, key, pick } of list) {
          const entry = inside[pick % Math.max(1, inside.length)];
          if (kind === 'add') {
            const added = { heapKey: key, heapIndex: OUTSIDE };
            heap.add(added);
            inside.push(added);
          } else if (entry && kind === 'remove') {
            heap.remove(entry);
            inside.splice(inside.indexOf(entry), 1);
            expect(entry.heapIndex).toBe(OUTSIDE);
          } else if (entry) {
            entry.heapKey = key;
            heap.moved(entry);
          }
          expect(heap.size).toBe(inside.length);
          const least = inside.length === 0 ? undefined : Math.min(...inside.map(({ heapKey }) => heapKey));
          expect(heap.first?.heapKey).toBe(least);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('takes no notice of the removal of what it does not have', () => {
    const heap = new Heap<Entry>(BY_KEY);
    heap.add({ heapKey: 1, heapIndex: OUTSIDE });
    heap.remove({ heapKey: 1, heapIndex: OUTSIDE });
    expect(heap.size).toBe(1);
  });
});
