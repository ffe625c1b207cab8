import { describe, expect, it } from 'vitest';
import {
  describeMismatch,
  elementCount,
  formatShape,
  shapeFits,
  shapeMismatch,
  tensorByteLength,
} from './shape.ts';

describe('elementCount', () => {
  it.each([
    [[], 1],
    [[2, 3], 6],
    [[0, 5], 0],
    [[2 ** 40, 0, 2 ** 10], 0],
    [[2 ** 53 - 1], 2 ** 53 - 1],
    [[2 ** 53 - 1, 2], undefined],
    [[2 ** 30, 2 ** 30], undefined],
    [[-1, 2], undefined],
    [[1.5], undefined],
    [[Number.NaN], undefined],
  ])('of %j is %s', (shape, count) => {
    expect(elementCount(shape)).toBe(count);
  });
});

it('tensorByteLength counts bytes, or says that it cannot', () => {
  expect(tensorByteLength('FP16', [3, 5])).toBe(30);
  expect(tensorByteLength('BYTES', [3])).toBe(0);
  expect(tensorByteLength('INT64', [2 ** 52])).toBeUndefined();
  expect(tensorByteLength('BOOL', [-1])).toBeUndefined();
});

it('shapeFits takes any length where one is free', () => {
  expect(shapeFits([-1, 3], [9, 3])).toBe(true);
  expect(shapeFits([-1, 3], [0, 3])).toBe(true);
  expect(shapeFits([-1, 3], [9, 4])).toBe(false);
  expect(shapeFits([-1, 3], [3])).toBe(false);
  expect(shapeFits([], [])).toBe(true);
});

describe('shapeMismatch', () => {
  const image = { name: 'image', shape: [-1, 3, 224, 224] };

  it('is undefined for a shape that fits', () => {
    expect(shapeMismatch(image, [2, 3, 224, 224], '/inputs/0')).toBeUndefined();
  });

  it.each([
    [[2, 224, 224, 3], /transposed.*\[0, 3, 1, 2\]/],
    [[3, 224, 224], /add a first axis, \[1, 3, 224, 224\]/],
    [[1, 2, 3, 224, 224], /without the first axis, \[2, 3, 224, 224\]/],
    [[7], /4 axes are expected and 1 came: reshape it to \[-1, 3, 224, 224\]/],
    [[1, 3, 224, 200], /axis 3 must be 224 and is 200/],
  ])('of %j says how to mend it', (received, hint) => {
    const mismatch = shapeMismatch(image, received, '/inputs/0');
    expect(mismatch).toMatchObject({
      pointer: '/inputs/0',
      expected: formatShape(image.shape),
      received: formatShape(received),
    });
    expect(mismatch?.hint).toMatch(hint);
    expect(mismatch && describeMismatch(image, mismatch)).toMatch(hint);
  });

  it('keeps to the grammar of one axis', () => {
    expect(shapeMismatch({ name: 'X', shape: [4] }, [2, 2, 2], '')?.hint).toMatch(/1 axis is expected/);
  });
});
