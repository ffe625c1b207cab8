import type { Span } from '@gimbal/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BLOCK_BYTES, BlockAllocator } from './block-allocator.ts';

const CAPACITY = BLOCK_BYTES * 512;

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('allocate' as const), value: sizes() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('free' as const), value: fc.nat() }) },
);

function sizes(): fc.Arbitrary<number> {
  return fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: CAPACITY }), fc.constant(640));
}

test('BlockAllocator never overlaps, never leaks, and has all memory back when everything is freed', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const allocator = new BlockAllocator(CAPACITY);
      const owner = new Int32Array(CAPACITY / BLOCK_BYTES).fill(-1);
      const held: Span[] = [];
      for (const [index, { kind, value }] of steps.entries()) {
        if (kind === 'allocate') {
          const span = allocator.allocate(value);
          if (span) {
            held.push(span);
            mark(owner, span, { from: -1, to: index });
          } else {
            expect(longestFree(owner) * BLOCK_BYTES).toBeLessThan(value);
          }
        } else if (held.length > 0) {
          const [span] = held.splice(value % held.length, 1);
          if (span) {
            allocator.free(span);
            mark(owner, span, { from: undefined, to: -1 });
          }
        }
        expect(allocator.used).toBe(owner.filter((unit) => unit >= 0).length * BLOCK_BYTES);
      }
      for (const span of held) allocator.free(span);
      expect(allocator.used).toBe(0);
      expect(allocator.allocate(CAPACITY)).toEqual({ offset: 0, byteLength: CAPACITY });
    }),
    { numRuns: 300 },
  );
});

/** Each unit of a span must be free when it is given out. */
function mark(owner: Int32Array, span: Span, { from, to }: { from: number | undefined; to: number }): void {
  expect(span.offset % BLOCK_BYTES).toBe(0);
  const first = span.offset / BLOCK_BYTES;
  const end = first + Math.ceil(span.byteLength / BLOCK_BYTES);
  expect(end).toBeLessThanOrEqual(owner.length);
  for (let unit = first; unit < end; unit += 1) {
    if (from !== undefined) expect(owner[unit]).toBe(from);
    owner[unit] = to;
  }
}

function longestFree(owner: Int32Array): number {
  let longest = 0;
  let current = 0;
  for (const unit of owner) {
    current = unit < 0 ? current + 1 : 0;
    longest = Math.max(longest, current);
  }
  return longest;
}
