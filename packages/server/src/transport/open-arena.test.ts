import { fstatSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openLibc } from './libc.ts';
import { openArena } from './open-arena.ts';
import { mapArena } from './shared-arena.ts';

describe.each(['shared', 'heap'] as const)('openArena, %s', (kind) => {
  test('gives whole pages of memory that starts as zeros', () => {
    const { arena, reason } = openArena(5000, kind);
    expect(arena).toMatchObject({ kind, capacity: 8192, used: 0 });
    expect(reason).toBeUndefined();
    expect(arena.bytes.length).toBe(8192);
    expect(arena.bytes.every((byte) => byte === 0)).toBe(true);
    arena.close();
  });

  test('has views that are empty, not dangling, after it was closed', () => {
    const { arena } = openArena(8192, kind);
    const view = arena.bytes.subarray(10, 20);
    arena.close();
    expect(view.length).toBe(0);
    expect(arena.bytes.length).toBe(0);
  });

  test('counts what is allocated', () => {
    const { arena } = openArena(8192, kind);
    const span = arena.allocate(100);
    expect(span).toEqual({ offset: 0, byteLength: 100 });
    expect(arena.used).toBe(128);
    if (span) arena.free(span);
    expect(arena.used).toBe(0);
    arena.close();
  });
});

test('A shared arena is seen by everyone who maps its descriptor', () => {
  const { arena } = openArena(8192, 'shared');
  const other = mapArena(arena.fd ?? -1, arena.capacity);
  arena.bytes[4097] = 42;
  expect(other[4097]).toBe(42);
  other[0] = 7;
  expect(arena.bytes[0]).toBe(7);
  arena.close();
});

test('A shared arena can not be truncated by a runner, which would kill the host', () => {
  const { arena } = openArena(8192, 'shared');
  const libc = openLibc();
  if (typeof libc === 'string') throw new Error(libc);
  expect(libc.ftruncate(arena.fd ?? -1, 0)).toBe(-1);
  expect(fstatSync(arena.fd ?? -1).size).toBe(8192);
  arena.close();
});

test('A heap arena has no descriptor', () => {
  expect(openArena(1, 'heap').arena.fd).toBeUndefined();
});
