import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesTensorOf } from './bytes-tensor.ts';
import { byteSizeOf, DATATYPES, type Datatype } from './datatype.ts';
import { writeTensorText } from './format-tensor.ts';
import { JsonScan } from './json-scan.ts';
import { readJsonTensor } from './json-tensor.ts';
import { JsonText } from './json-text.ts';
import { encodeUtf8 } from './utf8.ts';

const text = new JsonText();

function read(datatype: Datatype, json: Uint8Array) {
  const scan = new JsonScan(json, 40);
  const plan = { name: 'X', datatype, maxElements: 10_000, destination: undefined, halves: 'round' } as const;
  const tensor = readJsonTensor(scan, plan);
  scan.finish();
  return tensor;
}

function write(
  datatype: Datatype,
  shape: readonly number[],
  bytes: Uint8Array,
  layout: 'flat' | 'nested',
): Uint8Array {
  text.begin();
  writeTensorText(text, { name: 'X', datatype, shape, bytes }, { layout, nonFinite: 'bare' });
  return text.finish();
}

/** Bits of NaN don't survive being a number: each becomes the one that JSON's NaN is read as. */
function withOneNaN(datatype: Datatype, bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length; at += byteSizeOf(datatype)) {
    if (datatype === 'FP32' && Number.isNaN(view.getFloat32(at, true))) view.setFloat32(at, Number.NaN, true);
    if (datatype === 'FP64' && Number.isNaN(view.getFloat64(at, true))) view.setFloat64(at, Number.NaN, true);
    if (datatype === 'FP16' && (view.getUint16(at, true) & 0x7fff) > 0x7c00) view.setUint16(at, 0x7e00, true);
    if (datatype === 'BOOL') view.setUint8(at, view.getUint8(at) & 1);
  }
  return bytes;
}

const shapes = fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 4 });

describe('a tensor', () => {
  it.each(DATATYPES.filter((datatype) => datatype !== 'BYTES'))(
    'of %s comes back from JSON bit for bit',
    (datatype) => {
      const tensors = shapes.chain((shape) => {
        const byteLength = shape.reduce((count, length) => count * length, 1) * byteSizeOf(datatype);
        return fc.tuple(fc.constant(shape), fc.uint8Array({ minLength: byteLength, maxLength: byteLength }));
      });
      fc.assert(
        fc.property(tensors, ([shape, random]) => {
          const bytes = withOneNaN(datatype, random.slice());
          expect(read(datatype, write(datatype, shape, bytes, 'flat')).bytes).toEqual(bytes);
          const nested = read(datatype, write(datatype, shape, bytes, 'nested'));
          expect(nested.bytes).toEqual(bytes);
          expect(nested.nesting).toEqual(shape);
        }),
        { numRuns: 200 },
      );
    },
  );

  it('of BYTES comes back from JSON, whatever the strings', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), (strings) => {
        const bytes = bytesTensorOf(strings.map(encodeUtf8));
        const json = write('BYTES', [strings.length], bytes, 'flat');
        expect(JSON.parse(new TextDecoder().decode(json))).toEqual(strings);
        expect(read('BYTES', json).bytes).toEqual(bytes);
      }),
    );
  });
});

const digits = (most: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${most}}$`));
const number = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(
      fc.constant('0'),
      digits(24).map((text) => text.replace(/^0+(?=\d)/, '')),
    ),
    fc.option(digits(30), { nil: undefined }),
    fc.option(fc.tuple(fc.constantFrom('e', 'E', 'e+', 'e-'), digits(3)), { nil: undefined }),
  )
  .map(
    ([sign, whole, fraction, exponent]) =>
      `${sign}${whole}${fraction === undefined ? '' : `.${fraction}`}${exponent ? exponent.join('') : ''}`,
  );

/** The whole number that a decimal is, in exact arithmetic; undefined for one that is none, or has over 60 digits. */
function wholeOf(decimal: string): bigint | undefined {
  const [significand = '', exponent = '0'] = decimal.toLowerCase().split('e');
  const [whole = '', fraction = ''] = significand.split('.');
  const digits = BigInt(whole.replace('-', '') + fraction);
  const scale = Number(exponent) - fraction.length;
  if (digits === 0n) return 0n;
  if (scale > 60) return undefined;
  const power = 10n ** BigInt(Math.abs(scale));
  if (scale < 0 && digits % power !== 0n) return undefined;
  const magnitude = scale < 0 ? digits / power : digits * power;
  return whole.startsWith('-') ? -magnitude : magnitude;
}

describe('a number in any writing', () => {
  it('is the double and the float32 that Number() makes of it', () => {
    fc.assert(
      fc.property(fc.array(number, { minLength: 1, maxLength: 8 }), (numbers) => {
        const inRange = numbers.filter((one) => Math.abs(Math.fround(Number(one))) <= 3.4028234663852886e38);
        const json = encodeUtf8(`[${inRange.join(', ')}]`);
        const wide = read('FP64', json).bytes.slice();
        expect([...new Float64Array(wide.buffer)]).toEqual(JSON.parse(`[${inRange.join()}]`));
        const narrow = read('FP32', json).bytes.slice();
        expect([...new Float32Array(narrow.buffer)]).toEqual(inRange.map((one) => Math.fround(Number(one))));
      }),
      { numRuns: 3000 },
    );
  });

  it('is taken as INT32 exactly when it is whole and fits', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          number,
          fc.integer().map(String),
          fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
        ),
        (one) => {
          let got: number | undefined;
          try {
            got = new DataView(read('INT32', encodeUtf8(`[${one}]`)).bytes.slice().buffer).getInt32(0, true);
          } catch {
            got = undefined;
          }
          const value = wholeOf(one);
          if (got !== undefined) expect(BigInt(got)).toBe(value);
          else
            expect(value !== undefined && value === BigInt.asIntN(32, value) && one.length <= 10).toBe(false);
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe('text with one byte changed', () => {
  it('is refused by the tensor reader where JSON.parse refuses it', () => {
    const seeds = ['[[1,2.5],[-3e2,4]]', '["a\\u00e9","b"]', '[true,false]'];
    fc.assert(
      fc.property(
        fc.constantFrom(...seeds),
        fc.nat(20),
        fc.integer({ min: 0x20, max: 0x7e }),
        (seed, at, byte) => {
          const json = encodeUtf8(seed);
          if (at < json.length) json[at] = byte;
          const datatype = seed.includes('"') ? 'BYTES' : seed.includes('t') ? 'BOOL' : 'FP64';
          let taken = true;
          try {
            read(datatype, json);
          } catch {
            taken = false;
          }
          if (taken) expect(() => JSON.parse(new TextDecoder().decode(json))).not.toThrow();
        },
      ),
      { numRuns: 3000 },
    );
  });
});
