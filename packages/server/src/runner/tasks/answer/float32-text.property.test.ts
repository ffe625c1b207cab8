import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_NUMBER_BYTES, writeFloat32, writeInteger } from './float32-text.ts';

function textOf(value: number): string {
  const target = new Uint8Array(MAX_NUMBER_BYTES + 4).fill(0x21);
  const end = writeFloat32(target, 2, value);
  expect([target[0], target[1]]).toEqual([0x21, 0x21]);
  expect(end - 2).toBeLessThanOrEqual(MAX_NUMBER_BYTES);
  return Buffer.from(target.subarray(2, end)).toString();
}

/** Fewest significant digits that read back as the value. */
function fewestDigits(value: number): number {
  for (let digits = 1; digits < 9; digits += 1) {
    if (Math.fround(Number(value.toPrecision(digits))) === value) return digits;
  }
  return 9;
}

function digitsIn(text: string): number {
  return text.replace(/e.*$/, '').replace(/[-.]/g, '').replace(/^0+/, '').replace(/0+$/, '').length;
}

describe('text of a float32', () => {
  it('is JSON, reads back as the same float32, and no shorter decimal does', () => {
    fc.assert(
      fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const text = textOf(value);
        expect(Object.is(Math.fround(JSON.parse(text) as number), value)).toBe(true);
        if (value !== 0) expect(digitsIn(text)).toBe(fewestDigits(value));
      }),
      { numRuns: 20_000 },
    );
  });

  it('holds for the bit patterns that probabilities have', () => {
    const scratch = new Float32Array(1);
    const bits = new Uint32Array(scratch.buffer);
    fc.assert(
      fc.property(fc.integer({ min: 0x2f000000, max: 0x3f800000 }), (pattern) => {
        bits[0] = pattern;
        const value = scratch[0] as number;
        expect(Math.fround(JSON.parse(textOf(value)) as number)).toBe(value);
      }),
      { numRuns: 20_000 },
    );
  });

  it.each([
    [0, '0'],
    [-0, '-0'],
    [1, '1'],
    [-1.5, '-1.5'],
    [0.1, '0.1'],
    [100, '100'],
    [123456.7, '123456.7'],
    [16777216, '16777216'],
    [1e-7, '1e-7'],
    [1.5e-7, '1.5e-7'],
    [6.49263e-10, '6.49263e-10'],
    [1e20, '100000000000000000000'],
    [3e21, '3e21'],
    [3.4028234663852886e38, '3.4028235e38'],
    [1.401298464324817e-45, '1e-45'],
    [Number.NaN, 'null'],
    [Number.POSITIVE_INFINITY, 'null'],
    [Number.NEGATIVE_INFINITY, 'null'],
  ])('writes %d as %s', (value, text) => {
    expect(textOf(Math.fround(value)).replace('e+', 'e')).toBe(text);
  });
});

describe('text of an integer', () => {
  it('is what JavaScript writes, for every safe integer', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (value) => {
        const target = new Uint8Array(MAX_NUMBER_BYTES);
        expect(Buffer.from(target.subarray(0, writeInteger(target, 0, value))).toString()).toBe(
          String(value),
        );
      }),
      { numRuns: 5_000 },
    );
  });
});
