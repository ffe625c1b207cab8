import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_NUMBER_BYTES, writeAscii, writeFloat32, writeFloat64, writeInteger } from './number-text.ts';

function written(write: typeof writeFloat32, value: number): string {
  const room = new Uint8Array(MAX_NUMBER_BYTES + 8).fill(0x23);
  const end = write(room, 3, value);
  expect(end - 3).toBeLessThanOrEqual(MAX_NUMBER_BYTES);
  expect([room[2], room[end]]).toEqual([0x23, 0x23]);
  return String.fromCharCode(...room.subarray(3, end));
}

/** The fewest significant digits that read back as the same float32. */
function fewestDigits(value: number): number {
  for (let digits = 1; digits < 9; digits += 1)
    if (Math.fround(Number(value.toPrecision(digits))) === value) return digits;
  return 9;
}

function digitsOf(text: string): number {
  const significand = text.replace(/e.*/, '').replace('-', '').replace('.', '');
  return significand.replace(/^0+/, '').replace(/0+$/, '').length;
}

const BITS = new DataView(new ArrayBuffer(4));
const anyFloat32 = fc
  .integer({ min: 0, max: 0xffffffff })
  .map((bits) => {
    BITS.setUint32(0, bits);
    return BITS.getFloat32(0);
  })
  .filter(Number.isFinite);

describe('writeFloat32', () => {
  it.each([
    [0.1, '0.1'],
    [-0, '-0.0'],
    [0, '0'],
    [1e7, '10000000'],
    [-16777216, '-16777216'],
    [1e-7, '1e-7'],
    [1.5e-6, '0.0000015'],
    [0.000001, '0.000001'],
    [-2.5e-7, '-2.5e-7'],
    [3.4028234663852886e38, '3.4028235e+38'],
    [2 ** -149, '1e-45'],
    [1 + 2 ** -23, '1.0000001'],
    [1e21, '1e+21'],
    [123456.789, '123456.79'],
  ])('writes %d as %s', (value, text) => {
    expect(written(writeFloat32, Math.fround(value))).toBe(text);
  });

  it('reads back as the same float32, as JSON, in the fewest digits', () => {
    fc.assert(
      fc.property(anyFloat32, (value) => {
        const text = written(writeFloat32, value);
        expect(Math.fround(JSON.parse(text) as number)).toBe(value);
        expect(digitsOf(text)).toBeLessThanOrEqual(value === 0 ? 0 : fewestDigits(Math.abs(value)));
      }),
      { numRuns: 5000 },
    );
  });

  it('reads back at every power of two and ten, and beside them', () => {
    const exponents = Array.from({ length: 276 }, (_, index) => index - 149);
    const values = [
      ...exponents.map((exponent) => 2 ** exponent),
      ...exponents.map((exponent) => 10 ** exponent).filter((value) => value > 1e-44 && value < 3e38),
    ];
    for (const near of values.flatMap((value) => [value, value * (1 - 2 ** -24), value * (1 + 2 ** -23)])) {
      const value = Math.fround(near);
      expect(Math.fround(Number(written(writeFloat32, value))), String(value)).toBe(value);
    }
  });
});

describe('writeFloat64', () => {
  it('writes what JavaScript does, and keeps the sign of zero', () => {
    expect(written(writeFloat64, -0)).toBe('-0.0');
    for (const value of [2 ** 31, -(2 ** 31), 2 ** 31 - 1, 5e-324, Number.MAX_VALUE, 1e21])
      expect(written(writeFloat64, value)).toBe(String(value));
    const finite = fc
      .double({ noNaN: true, noDefaultInfinity: true })
      .filter((value) => !Object.is(value, -0));
    fc.assert(
      fc.property(finite, (value) => {
        expect(written(writeFloat64, value)).toBe(String(value));
      }),
    );
  });
});

describe('writeInteger', () => {
  it('writes every digit of a safe integer', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (value) => {
        expect(written(writeInteger, value)).toBe(String(value));
      }),
    );
    for (let power = 1; power < 1e15; power *= 10)
      for (const value of [power - 1, power, -power])
        expect(written(writeInteger, value)).toBe(String(value));
  });
});

it('writeAscii ends behind the text', () => {
  const room = new Uint8Array(4);
  expect(writeAscii(room, 1, 'ab')).toBe(3);
  expect([...room]).toEqual([0, 97, 98, 0]);
});
