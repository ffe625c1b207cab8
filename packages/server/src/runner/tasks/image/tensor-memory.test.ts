import { describe, expect, it } from 'vitest';
import { TensorMemory } from './tensor-memory.ts';

describe('tensor memory', () => {
  it('gives a returned block again, once, and only for its own length', () => {
    const memory = new TensorMemory();
    const block = memory.take(64);
    memory.give(block);
    expect(memory.take(32)).not.toBe(block);
    expect(memory.take(64)).toBe(block);
    expect(memory.take(64)).not.toBe(block);
  });

  it('keeps a bounded number of blocks, the latest', () => {
    const memory = new TensorMemory();
    const blocks = Array.from({ length: 40 }, () => memory.take(8));
    for (const block of blocks) memory.give(block);
    const again = Array.from({ length: 40 }, () => memory.take(8));
    expect(again.filter((block) => blocks.includes(block))).toEqual(blocks.slice(-16));
  });

  it('keeps a bounded number of bytes', () => {
    const memory = new TensorMemory();
    const [large, huge] = [memory.take(20 << 20), memory.take(33 << 20)];
    memory.give(huge);
    memory.give(large);
    memory.give(memory.take(21 << 20));
    // Compared as booleans: a failing comparison of such arrays would print them.
    expect(memory.take(20 << 20) === large).toBe(false);
    expect(memory.take(33 << 20) === huge).toBe(false);
  });
});
