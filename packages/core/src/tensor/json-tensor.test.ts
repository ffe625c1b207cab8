import { describe, expect, it } from 'vitest';
import { isGimbalError } from '../errors/gimbal-error.ts';
import { bytesTensorTexts } from './bytes-tensor.ts';
import { byteSizeOf, type Datatype } from './datatype.ts';
import { JsonScan } from './json-scan.ts';
import { type JsonTensor, type JsonTensorPlan, readJsonTensor } from './json-tensor.ts';
import { encodeUtf8 } from './utf8.ts';

function read(datatype: Datatype, json: string, more: Partial<JsonTensorPlan> = {}): JsonTensor {
  const scan = new JsonScan(encodeUtf8(json), 40);
  const plan = {
    name: 'X',
    datatype,
    maxElements: 5000,
    destination: undefined,
    halves: 'round',
    ...more,
  } as const;
  const tensor = readJsonTensor(scan, plan);
  scan.finish();
  return tensor;
}

function view(datatype: Datatype, json: string): DataView {
  const bytes = read(datatype, json).bytes.slice();
  return new DataView(bytes.buffer);
}

function failure(
  datatype: Datatype,
  json: string,
  more: Partial<JsonTensorPlan> = {},
): [code: string, text: string] {
  try {
    read(datatype, json, more);
  } catch (error) {
    if (isGimbalError(error)) return [error.code, `${error.message} ${error.fields[0]?.pointer}`];
    throw error;
  }
  throw new Error(`${datatype} took ${json}`);
}

describe('readJsonTensor takes', () => {
  it.each([
    ['5', 1, []],
    ['[]', 0, [0]],
    ['[1,2,3]', 3, [3]],
    [' [ [ 1 , 2 ] ,\n[ 3 , 4 ] , [5,6] ] ', 6, [3, 2]],
    ['[[],[]]', 0, [2, 0]],
    ['[[[1]]]', 1, [1, 1, 1]],
  ])('%s', (json, count, nesting) => {
    for (const datatype of ['FP32', 'INT64', 'FP64'] as const)
      expect(read(datatype, json)).toMatchObject({ count, nesting });
  });

  it('booleans as words and digits, strings with escapes', () => {
    expect([...read('BOOL', '[[true,0],[1,false]]').bytes]).toEqual([1, 0, 1, 0]);
    expect(
      bytesTensorTexts(
        read('BYTES', '["","a\\u00e9\\ud83d\\ude00\\n",["x"][0]]'.replace(',["x"][0]', '')).bytes,
      ),
    ).toEqual(['', 'aé😀\n']);
    expect(bytesTensorTexts(read('BYTES', '"one"').bytes)).toEqual(['one']);
  });

  it('64-bit integers exactly, also those between doubles and across flushes', () => {
    const json = `[${'1,'.repeat(1500)}9223372036854775807,-9223372036854775808,9007199254740993,-1,5.0,1e3]`;
    const signed = view('INT64', json);
    const got = Array.from({ length: 6 }, (_, index) => signed.getBigInt64((1500 + index) * 8, true));
    expect(got).toEqual([2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n, -1n, 5n, 1000n]);
    expect(view('UINT64', '[18446744073709551615]').getBigUint64(0, true)).toBe(2n ** 64n - 1n);
  });

  it('NaN and infinities for floats', () => {
    const floats = view('FP32', '[NaN,Infinity,-Infinity,Inf,-Inf]');
    const got = Array.from({ length: 5 }, (_, index) => floats.getFloat32(index * 4, true));
    expect(got).toEqual([Number.NaN, 1 / 0, -1 / 0, 1 / 0, -1 / 0]);
  });

  it('the whole range of every number', () => {
    const ends: readonly (readonly [Datatype, string, string])[] = [
      ['UINT8', '0', '255'],
      ['UINT16', '0', '65535'],
      ['UINT32', '0', '4294967295'],
      ['UINT64', '0', '18446744073709551615'],
      ['INT8', '-128', '127'],
      ['INT16', '-32768', '32767'],
      ['INT32', '-2147483648', '2147483647'],
      ['INT64', '-9223372036854775808', '9223372036854775807'],
    ];
    for (const [datatype, least, most] of ends) {
      expect(read(datatype, `[${least},${most}]`).count).toBe(2);
      for (const past of [
        (BigInt(least) - 1n).toString(),
        (BigInt(most) + 1n).toString(),
        '0.5',
        '1e400',
        '1e-400',
        'NaN',
      ])
        expect(failure(datatype, `[0,${past}]`)).toEqual([
          'INVALID_INPUT',
          expect.stringMatching(/expected a whole.* \/1$/),
        ]);
    }
  });

  it('as many elements as the tensor has in the memory that is given', () => {
    const destination = new Uint8Array(9).fill(0xee);
    read('INT16', '[1,-2]', { maxElements: 2, destination: destination.subarray(3, 7) });
    expect([...destination]).toEqual([0xee, 0xee, 0xee, 1, 0, 0xfe, 0xff, 0xee, 0xee]);
    read('BOOL', '[true]', { maxElements: 1, destination: destination.subarray(8) });
    expect(destination[8]).toBe(1);
  });
});

describe('readJsonTensor refuses', () => {
  it.each(['FP32', 'INT64', 'UINT8', 'FP64'] as const)(
    'one element of %s too many, where it is',
    (datatype) => {
      const destination = new Uint8Array(byteSizeOf(datatype) * 2);
      for (const json of ['[1,2,3]', '[[1],[2],[3]]', '[[1,2],[3,4]]']) {
        const [code, text] = failure(datatype, json, { maxElements: 2, destination });
        expect([code, text]).toEqual([
          'INVALID_INPUT',
          expect.stringMatching(/too many.*expected 2 elements/),
        ]);
      }
      expect(failure(datatype, '7', { maxElements: 0 })[1]).toMatch(/too many/);
    },
  );

  it('one string or boolean too many', () => {
    expect(failure('BYTES', '["a","b"]', { maxElements: 1 })[1]).toMatch(
      /too many.*expected 1 element,.* \/1$/,
    );
    expect(failure('BOOL', '[true,true]', { maxElements: 1 })[1]).toMatch(/too many/);
  });

  it.each([
    '[[1,2],[3]]',
    '[[1],[2,3]]',
    '[1,[2]]',
    '[[1],2]',
    '[[[1]],[2]]',
    '[[],[1]]',
    '[[1],[]]',
    '[[],1]',
    '[[],[[]]]',
  ])('ragged %s', (json) => {
    for (const datatype of ['FP32', 'BOOL'] as const)
      expect(failure(datatype, json)[0]).toBe('INVALID_INPUT');
  });

  it.each([
    '[1,]',
    '[,1]',
    '[1 2]',
    '[',
    '[1',
    '[1,',
    '[[1]',
    '[01]',
    '[1.]',
    '[.5]',
    '[+1]',
    '[1e]',
    '[-]',
    '[1]]',
    '[0x1]',
    '[NaNa]',
    '',
  ])('broken %s', (json) => {
    for (const datatype of ['FP32', 'INT64'] as const)
      expect(failure(datatype, json)[0]).toBe('MALFORMED_REQUEST');
  });

  it.each([
    ['FP32', '["1"]'],
    ['FP32', '[null]'],
    ['FP32', '{}'],
    ['INT32', '[true]'],
    ['BOOL', '[2]'],
    ['BOOL', '["true"]'],
    ['BOOL', '[1.0]'],
    ['BYTES', '[1]'],
    ['BYTES', '[null]'],
  ] as const)('a value that is no %s: %s', (datatype, json) => {
    expect(failure(datatype, json)[0]).toBe('INVALID_INPUT');
  });

  it('floats past their range, and takes the last that rounds into it', () => {
    expect(failure('FP32', '[3.4028236e38]')[0]).toBe('INVALID_INPUT');
    expect(view('FP32', '[3.4028235677973362e38]').getFloat32(0, true)).toBe(3.4028234663852886e38);
    expect(failure('FP64', '[1e309]')[0]).toBe('INVALID_INPUT');
    expect(failure('FP16', '[65520]')[0]).toBe('INVALID_INPUT');
    expect(view('FP16', '[65519]').getUint16(0, true)).toBe(0x7bff);
  });

  it('strings that are no Unicode', () => {
    for (const json of ['["\\ud800"]', '["\\udc00\\ud800"]', '["\\x"]', '["a', '["\u0001"]'])
      expect(failure('BYTES', json)[0]).toBe('MALFORMED_REQUEST');
  });

  it('halves where they have no exact way, and nesting without end', () => {
    expect(failure('FP16', '[1]', { halves: 'refuse' })[1]).toMatch(/FP16 data via JSON is not supported/);
    expect(failure('FP32', '['.repeat(33))[1]).toMatch(/at most 32/);
  });

  it('and reads the next tensor as if nothing had been', () => {
    failure('INT64', '[[9223372036854775807,2],[3]]');
    expect(read('INT64', '[7]')).toMatchObject({ count: 1, nesting: [1] });
    expect(view('INT64', '[7]').getBigInt64(0, true)).toBe(7n);
  });
});
