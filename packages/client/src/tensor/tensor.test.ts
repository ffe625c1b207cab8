import { expect, it } from 'vitest';
import { ValidationError } from '../errors.ts';
import { isTensor, tensor, textsOf } from './tensor.ts';

it('keeps typed arrays as they are, without a copy', () => {
  const data = new Float32Array(6);
  expect(tensor('FP32', [2, 3], data).data).toBe(data);
});

it('takes lists of numbers, bigints, booleans and texts', () => {
  expect(tensor('INT32', [2], [1, -2]).data).toEqual(Int32Array.of(1, -2));
  expect(tensor('INT64', [1], [2n ** 62n]).data).toEqual(BigInt64Array.of(2n ** 62n));
  expect(tensor('BOOL', [2], [true, false]).data).toEqual(Uint8Array.of(1, 0));
  expect(textsOf(tensor('BYTES', [2], ['ä', Uint8Array.of(98)]))).toEqual(['ä', 'b']);
  expect(tensor('FP32', [], [1.5]).data).toEqual(Float32Array.of(1.5));
});

it.each([
  ['too few elements', () => tensor('FP32', [2, 3], [1, 2]), 'expected 6 elements for FP32 [2, 3], got 2'],
  ['a number that wraps', () => tensor('UINT8', [1], [256]), 'numbers that fit UINT8, got 256 at element 0'],
  ['a fraction for integers', () => tensor('INT32', [1], [0.5]), 'numbers that fit INT32, got 0.5'],
  ['a bigint that wraps', () => tensor('INT64', [1], [2n ** 63n]), 'got 9223372036854775808 at element 0'],
  ['a negative length', () => tensor('FP32', [-1], []), 'a shape of at most 32 lengths'],
  ['bytes that are no booleans', () => tensor('BOOL', [1], Uint8Array.of(2)), 'got 2 at element 0'],
  ['another array', () => tensor('FP32', [1], new Float64Array(1) as never), 'a Float32Array for FP32'],
  ['an unknown datatype', () => tensor('FP8' as never, [1], [1] as never), 'got "FP8"'],
])('refuses %s, and says so', (_what, make, message) => {
  expect(make).toThrow(ValidationError);
  expect(make).toThrow(message);
});

it('a copy of a tensor is none: it has not been checked', () => {
  const made = tensor('FP32', [1], [1]);
  expect(isTensor(made)).toBe(true);
  expect(isTensor({ ...made })).toBe(false);
});

it('texts that are not UTF-8 are not guessed', () => {
  expect(() => textsOf(tensor('BYTES', [1], [Uint8Array.of(0xff)]))).toThrow(TypeError);
});
