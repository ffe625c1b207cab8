import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FakeExchange, FakeRequest } from '../testing/fake-exchange.ts';
import { aTensorSpec } from '../testing/fake-model.ts';
import { aBench, floats, infer, LENGTH, strings } from './testing/infer-bench.ts';

const TENSORS = [
  aTensorSpec('E', 'FP32', [-1, 0]),
  aTensorSpec('A', 'FP32', [-1, 2]),
  aTensorSpec('B', 'BYTES', [-1, 1]),
];
const TEXT = strings('häh');
const REQUEST = infer(
  {
    inputs: [
      { name: 'A', datatype: 'FP32', shape: [1, 2], parameters: { binary_data_size: 8 } },
      { name: 'E', datatype: 'FP32', shape: [1, 0], parameters: { binary_data_size: 0 } },
      { name: 'B', datatype: 'BYTES', shape: [1, 1], parameters: { binary_data_size: TEXT.length } },
    ],
    parameters: { binary_data_output: true },
  },
  [floats(1, -2), TEXT],
);
const BODY = REQUEST.body as Uint8Array;

const bench = aBench(TENSORS);
let asked = 0;

function ask(more: FakeRequest): FakeExchange {
  const exchange = bench.ask({ ...REQUEST, ...more });
  asked += 1;
  bench.assertClean(asked);
  // What was asked before is known to be clean.
  bench.inference.calls.length = 0;
  return exchange;
}

const WHOLE = ask({}).answer?.body;

describe('a binary body', () => {
  it('gives the same answer split at any byte', () => {
    expect(Buffer.from(WHOLE ?? []).includes(Buffer.from(TEXT))).toBe(true);
    for (let at = 0; at <= BODY.length; at += 1) {
      const exchange = ask({ pieces: [at] });
      expect(exchange.status, `split at ${at}`).toBe(200);
      expect(exchange.answer?.body, `split at ${at}`).toEqual(WHOLE);
    }
  });

  it('gives the same answer in any pieces, with and without a told length', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 40 }), { maxLength: 60 }), fc.boolean(), (pieces, chunked) => {
        expect(ask({ pieces, chunked }).answer?.body).toEqual(WHOLE);
      }),
      { numRuns: 200 },
    );
  });

  it('is refused cut off at any byte, however it arrives', () => {
    for (let length = 0; length < BODY.length; length += 1) {
      for (const chunked of [false, true]) {
        const exchange = ask({ body: BODY.subarray(0, length), chunked, pieces: [length >> 1] });
        expect(exchange.status, `cut at ${length}`).toBe(400);
      }
    }
  });

  it('is refused with bytes left over, in its last piece or in one of their own', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 30 }), fc.nat(BODY.length), (rest, at) => {
        const exchange = ask({ body: Buffer.concat([BODY, rest]), pieces: [at, BODY.length - at] });
        expect(exchange.status).toBe(400);
        expect(exchange.text).toMatch(/additional input data/);
      }),
      { numRuns: 200 },
    );
  });
});

/** What a mutation may put in: pieces of the protocol where they hurt. */
const FRAGMENTS = [
  '-1',
  '0',
  '1e999',
  '1e-400',
  '9007199254740993',
  '18446744073709551616',
  'NaN',
  '-Infinity',
  'null',
  'true',
  '[]',
  '{}',
  '"',
  '\\',
  '\\ud800',
  ',',
  ':',
  '[',
  ']',
  '{',
  '}',
  '"inputs"',
  '"data"',
  '"shape"',
  '"parameters"',
  '"binary_data_size"',
  '"binary_data_output":true',
  '"classification":2',
  '"timeout":5',
  '"sequence_id":1',
  '"shared_memory_region":"r"',
  '"FP16"',
  '"BYTES"',
  '"INT64"',
  '"outputs":[{"name":"OUTPUT1"}]',
  '\u0000',
  'é',
].map((text) => Buffer.from(text));

const fragment = fc.oneof(
  fc.constantFrom(...FRAGMENTS),
  fc.uint8Array({ maxLength: 4 }).map((bytes) => Buffer.from(bytes)),
);
const edit = fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), cut: fc.nat(12), put: fragment });

const integers = Array.from({ length: 16 }, (_, index) => index);
const one = (name: string) => ({ name, datatype: 'INT32', shape: [1, 16], data: integers });
const SEEDS: readonly (readonly [url: string, request: FakeRequest])[] = [
  [
    '/v2/models/echo/infer',
    infer({
      id: '7',
      inputs: [
        {
          name: 'X',
          datatype: 'FP32',
          shape: [2, 2],
          data: [
            [1, 2.5],
            [-3e2, 4],
          ],
        },
      ],
    }),
  ],
  [
    '/v2/models/echo/infer',
    infer(
      {
        inputs: [{ name: 'X', datatype: 'FP32', shape: [1, 2], parameters: { binary_data_size: 8 } }],
        outputs: [{ name: 'X_out', parameters: { binary_data: true } }],
        parameters: { timeout: 900 },
      },
      [floats(1, 2)],
    ),
  ],
  [
    '/v2/models/add-sub/infer',
    infer({
      inputs: [one('INPUT0'), one('INPUT1')],
      outputs: [{ name: 'OUTPUT0', parameters: { classification: 3 } }],
    }),
  ],
  ['/v2/models/echo/infer', { body: floats(1, 2), headers: { [LENGTH]: '0' } }],
];

describe('5,000 mutated inference requests', () => {
  it('are answered with 2xx, 4xx, 501 or 504, every call closed once', () => {
    const fuzzed = aBench();
    let requests = 0;
    const statuses = new Set<number>();
    const length = fc.option(
      fc.oneof(fc.nat(400).map(String), fc.constantFrom('', '-1', 'x', '99999999999')),
      { freq: 6 },
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...SEEDS),
        fc.array(edit, { maxLength: 4 }),
        length,
        fc.array(fc.nat(300), { maxLength: 4 }),
        (seed, edits, header, pieces) => {
          const [url, request] = seed;
          let body = Buffer.from(request.body as Uint8Array);
          for (const { at, cut, put } of edits) {
            const start = Math.floor(at * body.length);
            body = Buffer.concat([body.subarray(0, start), put, body.subarray(start + cut)]);
          }
          const told = header === null ? {} : { [LENGTH]: header };
          const exchange = fuzzed.ask({
            ...request,
            url,
            body,
            pieces,
            chunked: pieces.length > 2,
            headers: { ...request.headers, ...told },
          });
          requests += 1;
          statuses.add(exchange.status);
          const { status } = exchange;
          expect(status < 500 || status === 501 || status === 504, `${status}: ${exchange.text}`).toBe(true);
          fuzzed.assertClean(requests);
          fuzzed.inference.calls.length = 0;
        },
      ),
      { numRuns: 5000 },
    );
    expect(statuses.has(200) && statuses.has(400)).toBe(true);
  });
});
