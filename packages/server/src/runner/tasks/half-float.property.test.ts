import { describe, expect, it } from 'vitest';
import { fromHalfBits, toHalfBits } from './half-float.ts';

describe('half floats', () => {
  it('survive the way there and back, all 65,536 of them', () => {
    for (let bits = 0; bits <= 0xffff; bits += 1) {
      const value = fromHalfBits(bits);
      if (Number.isNaN(value)) expect(fromHalfBits(toHalfBits(value))).toBeNaN();
      else expect(toHalfBits(value)).toBe(bits);
    }
  });

  it('round to the nearest, ties to even, and overflow to infinity', () => {
    expect(fromHalfBits(toHalfBits(1 + 1 / 2048))).toBe(1);
    expect(fromHalfBits(toHalfBits(1 + 3 / 2048))).toBe(1 + 4 / 2048);
    expect(fromHalfBits(toHalfBits(65519))).toBe(65504);
    expect(fromHalfBits(toHalfBits(65520))).toBe(Number.POSITIVE_INFINITY);
    expect(fromHalfBits(toHalfBits(2 ** -25))).toBe(0);
    expect(fromHalfBits(toHalfBits(1.5 * 2 ** -24))).toBe(2 * 2 ** -24);
  });
});
