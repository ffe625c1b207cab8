import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromHalf, MAX_HALF, toHalf } from './half.ts';

/** Bits of the smallest infinity; below it are all finite halves of that sign, ascending. */
const INFINITY_BITS = 0x7c00;

/** What bits stand for, read off their text: sign, five bits of exponent, ten of fraction. */
function valueOfBits(bits: number): number {
  const text = bits.toString(2).padStart(16, '0');
  const exponent = Number.parseInt(text.slice(1, 6), 2);
  const fraction = Number.parseInt(text.slice(6), 2);
  const sign = text.startsWith('1') ? -1 : 1;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  if (exponent === 0) return sign * (fraction / 1024) * 2 ** -14;
  return sign * Number(`${1 + fraction / 1024}`) * 2 ** (exponent - 15);
}

/** All finite halves from 0 up, at the index of their bits. */
const FINITE = Array.from({ length: INFINITY_BITS }, (_, bits) => valueOfBits(bits));

/** Bits of the half nearest to a number, by search: of two as near, the one with even bits. */
function nearestBits(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  let low = 0;
  let high = INFINITY_BITS;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((FINITE[middle] ?? Number.POSITIVE_INFINITY) <= magnitude) low = middle;
    else high = middle;
  }
  // What would follow the largest half if there were one more exponent.
  const above = FINITE[high] ?? 65536;
  const below = FINITE[low] ?? 0;
  const middle = (below + above) / 2;
  if (magnitude === middle) return sign | (low % 2 === 0 ? low : high);
  return sign | (magnitude < middle ? low : high);
}

const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
/** Numbers in the range of halves, where most of the work is. */
const near = fc.double({ min: -70000, max: 70000, noNaN: true });
const tiny = fc.double({ min: -(2 ** -13), max: 2 ** -13, noNaN: true });

describe('halves', () => {
  it('stand for what their bits say, all 65,536 of them', () => {
    for (let bits = 0; bits < 65536; bits += 1) {
      const value = valueOfBits(bits);
      if (!Object.is(fromHalf(bits), value)) expect([bits, fromHalf(bits)]).toEqual([bits, value]);
    }
  });

  it('come back as the same bits, but for NaN, which is one', () => {
    for (let bits = 0; bits < 65536; bits += 1) {
      const isNone = (bits & 0x7fff) > INFINITY_BITS;
      const back = toHalf(fromHalf(bits));
      if (back !== (isNone ? 0x7e00 : bits)) expect([bits, back]).toEqual([bits, bits]);
    }
  });

  it('are the nearest to any number, and of two as near the even one', () => {
    fc.assert(
      fc.property(fc.oneof(finite, near, tiny), (value) => {
        expect(toHalf(value)).toBe(nearestBits(value));
      }),
      { numRuns: 3000 },
    );
  });

  it('are rounded rightly half-way between any two neighbours, and a hair beside', () => {
    for (let bits = 0; bits < INFINITY_BITS; bits += 1) {
      const middle = ((FINITE[bits] as number) + (FINITE[bits + 1] ?? 65536)) / 2;
      for (const value of [middle, middle * (1 - 2 ** -52), middle * (1 + 2 ** -52), -middle]) {
        if (toHalf(value) !== nearestBits(value))
          expect([value, toHalf(value)]).toEqual([value, nearestBits(value)]);
      }
    }
  });

  it.each([
    [1, 0x3c00],
    [-2, 0xc000],
    [0.1, 0x2e66],
    [1 / 3, 0x3555],
    [2 ** -24, 0x0001],
    [2 ** -25, 0x0000],
    [2 ** -14, 0x0400],
    [MAX_HALF, 0x7bff],
    [65519.99, 0x7bff],
    [65520, 0x7c00],
    [1e300, 0x7c00],
    [Number.POSITIVE_INFINITY, 0x7c00],
    [Number.NEGATIVE_INFINITY, 0xfc00],
    [-0, 0x8000],
    [5e-324, 0x0000],
  ])('of %d have the bits %i', (value, bits) => {
    expect(toHalf(value)).toBe(bits);
  });
});
