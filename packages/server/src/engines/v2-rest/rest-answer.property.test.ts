import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPeerFailure } from '../peer-failure.ts';
import { readRestAnswer } from './rest-answer.ts';

const utf8 = new TextEncoder();

function failureOf(read: () => unknown): unknown {
  try {
    read();
    return undefined;
  } catch (error) {
    return error;
  }
}

describe('An answer over REST', () => {
  it('gives back outputs that are raw and outputs that are JSON, in one body', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({ values: fc.array(fc.float({ noNaN: true }), { maxLength: 20 }), binary: fc.boolean() }),
          {
            maxLength: 5,
          },
        ),
        (given) => {
          const raw: Uint8Array[] = [];
          const outputs = given.map(({ values, binary }, index) => {
            const bytes = new Uint8Array(Float32Array.from(values).buffer);
            const head = { name: `y${index}`, datatype: 'FP32', shape: [values.length] };
            if (!binary) return `{"data":[${values.map(text).join(',')}],${JSON.stringify(head).slice(1)}`;
            raw.push(bytes);
            return JSON.stringify({ ...head, parameters: { binary_data_size: bytes.length } });
          });
          const json = utf8.encode(`{"model_name":"m","outputs":[${outputs.join(',')}]}`);
          const body = Buffer.concat([json, ...raw]);
          const answer = readRestAnswer(body, json.length);
          expect(answer.map(({ bytes }) => [...new Float32Array(Uint8Array.from(bytes).buffer)])).toEqual(
            given.map(({ values }) => [...Float32Array.from(values)]),
          );
        },
      ),
    );
  });

  it('of any bytes is read or refused as garbage, and never anything else', () => {
    const pieces = [
      '{"outputs":[',
      '{"name":"y"',
      ',"data":[',
      ',"shape":[1e9]',
      '1',
      ']',
      '}',
      '\u0000',
      ',"datatype":"FP32"',
      '"parameters":{"binary_data_size":-1}',
    ];
    const bodies = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((some) => utf8.encode(some.join(''))),
    );
    fc.assert(
      fc.property(
        bodies,
        fc.option(fc.integer({ min: -5, max: 250 }), { nil: undefined }),
        (body, jsonBytes) => {
          const error = failureOf(() => readRestAnswer(body, jsonBytes));
          if (error !== undefined) expect(isPeerFailure(error) && error.kind === 'garbage').toBe(true);
        },
      ),
    );
  });

  it.each([
    ['without outputs', '{}', undefined],
    ['with a length of JSON that is past its end', '{"outputs":[]}', 99],
    [
      'with a shape that promises more than the body holds',
      '{"outputs":[{"name":"y","datatype":"FP32","shape":[1000000000],"data":[1]}]}',
      undefined,
    ],
    [
      'with too few elements',
      '{"outputs":[{"name":"y","datatype":"FP32","shape":[3],"data":[1,2]}]}',
      undefined,
    ],
    [
      'with an unknown datatype',
      '{"outputs":[{"name":"y","datatype":"BF16","shape":[1],"data":[1]}]}',
      undefined,
    ],
  ])('%s is garbage', (_, body, jsonBytes) => {
    expect(failureOf(() => readRestAnswer(utf8.encode(body), jsonBytes))).toMatchObject({ kind: 'garbage' });
  });

  it('keeps NaN, infinities and every digit of 64-bit integers', () => {
    const body = utf8.encode(
      '{"outputs":[{"name":"f","datatype":"FP32","shape":[3],"data":[NaN,Infinity,-Infinity]},{"name":"i","datatype":"INT64","shape":[1],"data":[9223372036854775807]}]}',
    );
    const [floats, integers] = readRestAnswer(body, undefined);
    expect([...new Float32Array(Uint8Array.from(floats?.bytes ?? []).buffer)]).toEqual([
      NaN,
      Infinity,
      -Infinity,
    ]);
    expect(new BigInt64Array(Uint8Array.from(integers?.bytes ?? []).buffer)[0]).toBe(9223372036854775807n);
  });
});

function text(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value);
}
