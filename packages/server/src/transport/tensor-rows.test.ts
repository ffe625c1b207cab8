import { expect, test } from 'vitest';
import { BrokenElements, rowsOf } from './tensor-rows.ts';

test('rowsOf cuts rows of numbers by their size', () => {
  const bytes = new Uint8Array([1, 1, 2, 2, 3, 3]);
  expect(rowsOf({ bytes, shape: [3, 1] }, 'INT16', { first: 1, rows: 2 })).toEqual({
    bytes: new Uint8Array([2, 2, 3, 3]),
    shape: [2, 1],
  });
});

test('rowsOf cuts rows of strings by their lengths', () => {
  const bytes = new Uint8Array([1, 0, 0, 0, 65, 0, 0, 0, 0, 2, 0, 0, 0, 66, 67, 0, 0, 0, 0]);
  expect(rowsOf({ bytes, shape: [2, 2] }, 'BYTES', { first: 1, rows: 1 })).toEqual({
    bytes: new Uint8Array([2, 0, 0, 0, 66, 67, 0, 0, 0, 0]),
    shape: [1, 2],
  });
});

test('rowsOf gives no rows of a tensor that has none', () => {
  const none = { bytes: new Uint8Array(0), shape: [0, 4] };
  expect(rowsOf(none, 'FP32', { first: 0, rows: 0 })).toEqual(none);
});

test('rowsOf refuses rows that are not there', () => {
  const tensor = { bytes: new Uint8Array(4), shape: [2, 2] };
  expect(() => rowsOf(tensor, 'UINT8', { first: 1, rows: 2 })).toThrow(BrokenElements);
});

test('rowsOf refuses strings that are longer than their tensor', () => {
  const tensor = { bytes: new Uint8Array([255, 255, 255, 255]), shape: [1] };
  expect(() => rowsOf(tensor, 'BYTES', { first: 0, rows: 1 })).toThrow(BrokenElements);
});
