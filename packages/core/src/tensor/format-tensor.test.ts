import { describe, expect, it } from 'vitest';
import { bytesTensorOf } from './bytes-tensor.ts';
import type { Datatype } from './datatype.ts';
import { type TensorTextOptions, writeTensorText } from './format-tensor.ts';
import { JsonText } from './json-text.ts';
import { decodeUtf8, encodeUtf8 } from './utf8.ts';

const text = new JsonText();

function written(
  datatype: Datatype,
  shape: readonly number[],
  bytes: Uint8Array,
  options: Partial<TensorTextOptions> = {},
): string {
  // At an odd place, as outputs in a frame are.
  const room = new Uint8Array(bytes.length + 1);
  room.set(bytes, 1);
  text.begin();
  const tensor = { name: 'Y', datatype, shape, bytes: room.subarray(1) };
  writeTensorText(text, tensor, { layout: 'flat', nonFinite: 'bare', ...options });
  return decodeUtf8(text.finish());
}

const of = (elements: ArrayBufferView): Uint8Array => new Uint8Array(elements.buffer);

describe('writeTensorText', () => {
  it.each([
    ['BOOL', Uint8Array.of(0, 1, 7), '[false,true,true]'],
    ['UINT8', Uint8Array.of(0, 255, 1), '[0,255,1]'],
    ['INT8', Int8Array.of(-128, 127, 0), '[-128,127,0]'],
    ['UINT16', Uint16Array.of(65535, 0, 1), '[65535,0,1]'],
    ['INT16', Int16Array.of(-32768, 32767, 0), '[-32768,32767,0]'],
    ['UINT32', Uint32Array.of(4294967295, 0, 1), '[4294967295,0,1]'],
    ['INT32', Int32Array.of(-2147483648, 2147483647, 0), '[-2147483648,2147483647,0]'],
    ['UINT64', BigUint64Array.of(2n ** 64n - 1n, 2n ** 53n, 0n), '[18446744073709551615,9007199254740992,0]'],
    [
      'INT64',
      BigInt64Array.of(-(2n ** 63n), 2n ** 63n - 1n, -1n),
      '[-9223372036854775808,9223372036854775807,-1]',
    ],
    ['FP16', Uint16Array.of(0x3c00, 0xfc00, 0x7e00), '[1,-Infinity,NaN]'],
    ['FP32', Float32Array.of(0.1, Number.NaN, -0), '[0.1,NaN,-0.0]'],
    ['FP64', Float64Array.of(0.1, Number.POSITIVE_INFINITY, -0), '[0.1,Infinity,-0.0]'],
    ['BYTES', bytesTensorOf(['', 'é"\\\n', '\u0001😀'].map(encodeUtf8)), '["","é\\"\\\\\\n","\\u0001😀"]'],
  ] as const)('writes %s exactly', (datatype, elements, json) => {
    expect(written(datatype, [3], of(elements))).toBe(json);
  });

  it('nests by the shape, or not', () => {
    const bytes = Uint8Array.of(1, 2, 3, 4, 5, 6);
    expect(written('UINT8', [1, 3, 2], bytes)).toBe('[1,2,3,4,5,6]');
    expect(written('UINT8', [1, 3, 2], bytes, { layout: 'nested' })).toBe('[[[1,2],[3,4],[5,6]]]');
  });

  it('writes scalars and empty tensors', () => {
    const nested = { layout: 'nested' } as const;
    expect(written('UINT8', [], Uint8Array.of(9), nested)).toBe('9');
    expect(written('UINT8', [], Uint8Array.of(9))).toBe('[9]');
    expect(written('FP32', [0, 3], new Uint8Array(0), nested)).toBe('[]');
    expect(written('FP32', [2, 0], new Uint8Array(0), nested)).toBe('[[],[]]');
    expect(written('BYTES', [0], new Uint8Array(0))).toBe('[]');
  });

  it.each(['FP16', 'FP32', 'FP64'] as const)(
    'makes NaN of %s null or an error where that is asked',
    (datatype) => {
      const nan = {
        FP16: of(Uint16Array.of(0x7e00)),
        FP32: of(Float32Array.of(Number.NaN)),
        FP64: of(Float64Array.of(Number.NaN)),
      };
      expect(written(datatype, [1], nan[datatype], { nonFinite: 'null' })).toBe('[null]');
      expect(() => written(datatype, [1], nan[datatype], { nonFinite: 'error' })).toThrow(
        /finite numbers, got NaN/,
      );
    },
  );

  it('refuses bytes that do not fit the shape, and strings that are not UTF-8', () => {
    expect(() => written('FP32', [2], new Uint8Array(7))).toThrow(/shape \[2\], got 7 bytes/);
    expect(() => written('FP32', [-1], new Uint8Array(4))).toThrow(/shape/);
    expect(() => written('BYTES', [1], Uint8Array.of(9, 0, 0, 0))).toThrow(/shape/);
    expect(() => written('BYTES', [1], bytesTensorOf([Uint8Array.of(0xed, 0xa0, 0x80)]))).toThrow(/UTF-8/);
    expect(written('UINT8', [1], Uint8Array.of(5))).toBe('[5]');
  });
});
