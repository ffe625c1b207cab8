import { describe, expect, it } from 'vitest';
import { fromBrainBits, fromHalfBits, toBrainBits, toHalfBits } from './half.ts';

describe('FP16', () => {
  it('bits of every half come back as they were', () => {
    for (let bits = 0; bits < 0x10000; bits += 1) {
      const isNan = (bits & 0x7c00) === 0x7c00 && (bits & 0x3ff) !== 0;
      const back = toHalfBits(fromHalfBits(bits));
      if ((isNan ? 0x7e00 : bits) !== back)
        throw new Error(`${bits.toString(16)} became ${back.toString(16)}`);
    }
  });

  it.each([
    [1, 0x3c00],
    [-2, 0xc000],
    [65504, 0x7bff],
    [65519.99, 0x7bff],
    [65520, 0x7c00],
    [Number.NEGATIVE_INFINITY, 0xfc00],
    [2 ** -24, 0x0001],
    [2 ** -25, 0x0000],
    [2 ** -25 * 1.0000001, 0x0001],
    [2 ** -14, 0x0400],
    [-0, 0x8000],
    [0.1, 0x2e66],
    [1 / 3, 0x3555],
    // Ties go to the even neighbour.
    [1 + 2 ** -11, 0x3c00],
    [1 + 3 * 2 ** -11, 0x3c02],
    // A carry out of the fraction.
    [1.9999, 0x4000],
    // Rounded once: by way of a float this would become a tie.
    [1 + 2 ** -11 + 2 ** -40, 0x3c01],
  ])('%d is 0x%s', (value, bits) => {
    expect(toHalfBits(value).toString(16)).toBe(bits.toString(16));
  });

  it('every midpoint between neighbours rounds to the even one', () => {
    for (let bits = 0; bits < 0x7bff; bits += 1) {
      const middle = (fromHalfBits(bits) + fromHalfBits(bits + 1)) / 2;
      const even = bits % 2 === 0 ? bits : bits + 1;
      if (toHalfBits(middle) !== even) throw new Error(`the midpoint above ${bits.toString(16)}`);
    }
  });

  it('what is no number stays so', () => {
    expect(fromHalfBits(toHalfBits(Number.NaN))).toBeNaN();
  });
});

describe('BF16', () => {
  it('bits of every number come back as they were', () => {
    for (let bits = 0; bits < 0x10000; bits += 1) {
      const isNan = (bits & 0x7f80) === 0x7f80 && (bits & 0x7f) !== 0;
      const back = toBrainBits(fromBrainBits(bits));
      if ((isNan ? 0x7fc0 : bits) !== back)
        throw new Error(`${bits.toString(16)} became ${back.toString(16)}`);
    }
  });

  it.each([
    [1, 0x3f80],
    [-2, 0xc000],
    [3.140625, 0x4049],
    [0.1, 0x3dcd],
    [-0, 0x8000],
    [3.4e38, 0x7f80],
    [Number.POSITIVE_INFINITY, 0x7f80],
    // Ties go to the even neighbour.
    [1 + 2 ** -8, 0x3f80],
    [1 + 3 * 2 ** -8, 0x3f82],
  ])('%d is 0x%s', (value, bits) => {
    expect(toBrainBits(value).toString(16)).toBe(bits.toString(16));
  });
});
