import type { Span } from '@gimbal/core';
import { expect, test } from 'vitest';
import { BLOCK_BYTES, BlockAllocator } from './block-allocator.ts';

function take(allocator: BlockAllocator, byteLength: number): Span {
  const span = allocator.allocate(byteLength);
  if (!span) throw new Error('no room');
  return span;
}

test('BlockAllocator gives equal sizes that are asked for in a row side by side, ascending', () => {
  const allocator = new BlockAllocator(64 * 1024);
  const offsets = Array.from({ length: 16 }, () => take(allocator, 256).offset);
  expect(offsets).toEqual(offsets.map((_, index) => index * 256));
});

test('BlockAllocator gives a batch that was freed to the next batch of the same sizes, side by side again', () => {
  const allocator = new BlockAllocator(1024 * 1024);
  const first = Array.from({ length: 8 }, () => take(allocator, 640));
  const other = take(allocator, 64);
  for (const span of first) allocator.free(span);
  const second = Array.from({ length: 8 }, () => take(allocator, 640));
  expect(second).toEqual(first);
  allocator.free(other);
});

test('BlockAllocator is full at its capacity and not before', () => {
  const allocator = new BlockAllocator(BLOCK_BYTES * 100);
  const spans = Array.from({ length: 100 }, () => take(allocator, 1));
  expect(allocator.used).toBe(BLOCK_BYTES * 100);
  expect(allocator.allocate(1)).toBeUndefined();
  for (const span of spans) allocator.free(span);
  expect(take(allocator, BLOCK_BYTES * 100)).toEqual({ offset: 0, byteLength: BLOCK_BYTES * 100 });
});

test('BlockAllocator finds the one stretch that is large enough among many of its class', () => {
  const allocator = new BlockAllocator(BLOCK_BYTES * 10_000);
  // Stretches of 128 to 143 units share a class.
  const spans: Span[] = [];
  for (let index = 0; index < 60; index += 1) {
    spans.push(take(allocator, BLOCK_BYTES * (index === 0 ? 143 : 128)));
    take(allocator, 1);
  }
  const rest = allocator.capacity - allocator.used;
  take(allocator, rest);
  for (const span of spans) allocator.free(span);
  expect(allocator.allocate(BLOCK_BYTES * 143)).toEqual(spans[0]);
});

test('BlockAllocator gives empty spans that take no memory', () => {
  const allocator = new BlockAllocator(BLOCK_BYTES);
  const empty = take(allocator, 0);
  expect(allocator.used).toBe(0);
  allocator.free(empty);
  expect(take(allocator, 64).offset).toBe(0);
});

test('BlockAllocator refuses a span that was freed before', () => {
  const allocator = new BlockAllocator(1024);
  const span = take(allocator, 100);
  allocator.free(span);
  expect(() => allocator.free(span)).toThrow('freed once');
});
