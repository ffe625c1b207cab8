import { GimbalError } from '@gimbal/core';
import { describe, expect, it } from 'vitest';
import type { FakeRequest } from '../testing/fake-exchange.ts';
import { aTensorSpec } from '../testing/fake-model.ts';
import { aBench, BINARY_ROW, floats, infer, LENGTH, ROW } from './testing/infer-bench.ts';

type Refusal = readonly [what: string, status: number, request: FakeRequest, message?: RegExp];

/** The object as JSON, with one of its members there a second time. */
function twice(object: Readonly<Record<string, unknown>>, key: string): string {
  return `${JSON.stringify(object).slice(0, -1)},"${key}":${JSON.stringify(object[key])}}`;
}

const REFUSALS: readonly Refusal[] = [
  ['broken JSON', 400, infer('{"inputs":')],
  ['an empty body', 400, infer('')],
  ['no object', 400, infer('[]')],
  ['text after the JSON', 400, infer(`${JSON.stringify({ inputs: [ROW] })}x`)],
  ['a number as id', 400, infer({ id: 7, inputs: [ROW] }), /expected a string, got "7" in "\/id"/],
  ['an id twice', 400, infer('{"id":"a","id":"b","inputs":[]}'), /"id" twice in "\/id"/],
  ['inputs twice', 400, infer('{"inputs":[],"inputs":[]}'), /"inputs" twice/],
  ['outputs twice', 400, infer('{"outputs":[],"outputs":[],"inputs":[]}'), /"outputs" twice/],
  ['parameters twice', 400, infer('{"parameters":{},"parameters":{},"inputs":[]}'), /"parameters" twice/],
  [
    'a parameter twice',
    400,
    infer('{"parameters":{"timeout":1,"timeout":2},"inputs":[]}'),
    /"timeout" twice in "\/parameters\/timeout"/,
  ],
  ...['name', 'datatype', 'shape', 'data', 'parameters'].map(
    (key): Refusal => [
      `${key} of an input twice`,
      400,
      infer(`{"inputs":[${twice({ ...ROW, parameters: {} }, key)}]}`),
      new RegExp(`"${key}" twice in "/inputs/0/${key}"`),
    ],
  ),
  [
    'a name of an output twice',
    400,
    infer(`{"inputs":[],"outputs":[{"name":"X_out","name":"X_out"}]}`),
    /"name" twice in "\/outputs\/0\/name"/,
  ],
  ['no inputs', 400, infer({}), /"inputs" is missing/],
  ['empty inputs', 400, infer({ inputs: [] }), /"X" is missing/],
  ['an unknown input', 400, infer({ inputs: [{ ...ROW, name: 'Y' }] }), /unexpected inference input/],
  ['an input twice', 400, infer({ inputs: [ROW, ROW] }), /twice/],
  ['too many inputs', 400, infer({ inputs: new Array(300).fill(ROW) }), /too long/],
  ['an input without name', 400, infer({ inputs: [{ ...ROW, name: undefined }] }), /"name"/],
  ['an input without shape', 400, infer({ inputs: [{ ...ROW, shape: undefined }] }), /"shape"/],
  ['an input without data', 400, infer({ inputs: [{ ...ROW, data: undefined }] }), /neither/],
  ['data of both kinds', 400, infer({ inputs: [{ ...BINARY_ROW, data: [1, 2] }] }, [floats(1, 2)]), /both/],
  ['shared memory', 501, infer({ inputs: [{ ...ROW, parameters: { shared_memory_region: 'r' } }] })],
  [
    'shared memory of an output',
    501,
    infer({ inputs: [ROW], outputs: [{ name: 'X_out', parameters: { shared_memory_region: 'r' } }] }),
  ],
  ['a sequence', 501, infer({ inputs: [ROW], parameters: { sequence_id: 7 } }), /sequence/],
  ['an unknown datatype', 400, infer({ inputs: [{ ...ROW, datatype: 'BF16' }] }), /datatype/],
  ['another datatype', 400, infer({ inputs: [{ ...ROW, datatype: 'FP64' }] }), /expected FP32, got FP64/],
  ['another shape', 400, infer({ inputs: [{ ...ROW, shape: [1, 3] }] }), /shape/],
  ['a negative length', 400, infer({ inputs: [{ ...ROW, shape: [-1, 2] }] }), /at least 0/],
  ['a fractional length', 400, infer({ inputs: [{ ...ROW, shape: [1.5, 2] }] })],
  ['too many axes', 400, infer({ inputs: [{ ...ROW, shape: new Array(40).fill(1) }] }), /too long/],
  ['an uncountable shape', 400, infer({ inputs: [{ ...ROW, shape: [9007199254740991, 2] }] }), /counted/],
  ['more memory than there is', 413, infer({ inputs: [{ ...ROW, shape: [10_000_000, 2] }] })],
  ['too few elements', 400, infer({ inputs: [{ ...ROW, data: [1] }] }), /expected 2 elements/],
  ['too many elements', 400, infer({ inputs: [{ ...ROW, data: [1, 2, 3] }] }), /too many/],
  ['ragged data', 400, infer({ inputs: [{ ...ROW, shape: [2, 2], data: [[1, 2], [3]] }] }), /ragged/],
  ['a string among numbers', 400, infer({ inputs: [{ ...ROW, data: [1, '2'] }] })],
  ['null data', 400, infer({ inputs: [{ ...ROW, data: null }] })],
  ['deep nesting', 400, infer(`{"a":${'['.repeat(30)}${']'.repeat(30)}}`), /too deep/],
  ['an unknown output', 400, infer({ inputs: [ROW], outputs: [{ name: 'Xout' }] }), /did you mean "X_out"/],
  ['an output without name', 400, infer({ inputs: [ROW], outputs: [{}] })],
  [
    'a bad classification',
    400,
    infer({ inputs: [ROW], outputs: [{ name: 'X_out', parameters: { classification: -1 } }] }),
  ],
  ['a bad timeout', 400, infer({ inputs: [ROW], parameters: { timeout: 'soon' } }), /timeout/],
  ['an endless timeout', 400, infer({ inputs: [ROW], parameters: { timeout: 'Infinity' } }), /timeout/],
  ['binary without the header', 400, infer({ inputs: [BINARY_ROW] }), /header/],
  [
    'a wrong binary size',
    400,
    infer({ inputs: [{ ...BINARY_ROW, parameters: { binary_data_size: 4 } }] }, [floats(1)]),
    /expected 8 bytes/,
  ],
  [
    'a negative binary size',
    400,
    infer({ inputs: [{ ...BINARY_ROW, parameters: { binary_data_size: -8 } }] }, []),
  ],
  ['too few bytes', 400, infer({ inputs: [BINARY_ROW] }, [floats(1)]), /too short/],
  ['too many bytes', 400, infer({ inputs: [BINARY_ROW] }, [floats(1, 2, 3)]), /additional input data/],
  ['bytes after JSON inputs', 400, infer({ inputs: [ROW] }, [floats(1)]), /additional input data/],
  [
    'a length header that is no number',
    400,
    infer({ inputs: [ROW] }, undefined, { headers: { [LENGTH]: '1e2' } }),
  ],
  [
    'a length header past the body',
    400,
    infer({ inputs: [ROW] }, undefined, { headers: { [LENGTH]: '9999' } }),
  ],
  [
    'a length header past a chunked body',
    400,
    infer({ inputs: [ROW] }, undefined, { chunked: true, headers: { [LENGTH]: '9999' } }),
    /too short/,
  ],
  [
    'a length header past all memory',
    400,
    infer({ inputs: [ROW] }, undefined, { chunked: true, headers: { [LENGTH]: '999999999999999' } }),
  ],
  ['a raw body of another size', 400, infer('', undefined, { body: floats(1), headers: { [LENGTH]: '0' } })],
  ['a big body', 413, infer('x'.repeat(1024 * 1024 + 1))],
  ['a big chunked body', 413, infer('x'.repeat(1024 * 1024 + 1), undefined, { chunked: true })],
  ['an unknown model', 404, infer({ inputs: [ROW] }, undefined, { url: '/v2/models/none/infer' })],
  [
    'an unknown version',
    404,
    infer({ inputs: [ROW] }, undefined, { url: '/v2/models/echo/versions/9/infer' }),
  ],
  ['generation', 501, infer({}, undefined, { url: '/v2/models/echo/generate' })],
  ['streamed generation', 501, infer({}, undefined, { url: '/v2/models/echo/versions/1/generate_stream' })],
  ['a GET', 405, { url: '/v2/models/echo/infer' }],
];

function refusalOf([what, status, request, message]: Refusal) {
  return { what, status, request, message };
}

describe('infer refuses', () => {
  it.each(REFUSALS.map(refusalOf))(
    '$what with $status, its call closed once',
    ({ status, request, message }) => {
      const bench = aBench();
      const exchange = bench.ask(request);
      expect(exchange.status, exchange.text).toBe(status);
      expect(exchange.answer?.headers.get('content-type')).toBe('application/json');
      const { error } = exchange.json as { error: string };
      expect(error).toMatch(message ?? /./);
      expect(bench.inference.calls.flatMap(({ works }) => works)).toEqual([]);
      bench.assertClean(1);
    },
  );

  it('FP16 in JSON both ways, in Triton’s words', () => {
    const bench = aBench([aTensorSpec('H', 'FP16', [-1, 1])]);
    const input = { name: 'H', datatype: 'FP16', shape: [1, 1], data: [1] };
    const binary = { ...input, data: undefined, parameters: { binary_data_size: 2 } };
    const parameters = { binary_data_output: true };
    const asked = [infer({ inputs: [input], parameters }), infer({ inputs: [binary] }, [new Uint8Array(2)])];
    for (const request of asked) {
      const exchange = bench.ask(request);
      expect(exchange.status).toBe(400);
      expect(exchange.text).toMatch(/FP16 data via JSON is not supported/);
    }
    bench.assertClean(2);
  });

  it.each([
    ['a length past the end', [9, 0, 0, 0, 65]],
    ['too few elements', []],
    ['too many', [0, 0, 0, 0, 0, 0, 0, 0]],
    ['a cut length', [1, 0]],
  ])('BYTES with %s', (_, bytes) => {
    const bench = aBench([aTensorSpec('S', 'BYTES', [-1, 1])]);
    const input = {
      name: 'S',
      datatype: 'BYTES',
      shape: [1, 1],
      parameters: { binary_data_size: bytes.length },
    };
    expect(bench.ask(infer({ inputs: [input] }, [Uint8Array.from(bytes)])).status).toBe(400);
    bench.assertClean(1);
  });

  it('classification of strings, and rows that differ', () => {
    const bench = aBench([aTensorSpec('S', 'BYTES', [-1, 1]), aTensorSpec('X', 'FP32', [-1, 1])]);
    const s = { name: 'S', datatype: 'BYTES', shape: [1, 1], data: ['a'] };
    const x = { name: 'X', datatype: 'FP32', shape: [1, 1], data: [1] };
    const outputs = [{ name: 'S_out', parameters: { classification: 1 } }];
    expect(bench.ask(infer({ inputs: [s, x], outputs })).text).toMatch(/classify/);
    const rows = bench.ask(infer({ inputs: [s, { ...x, shape: [2, 1], data: [1, 2] }] }));
    expect(rows.status).toBe(400);
    expect(rows.text).toMatch(/axis 0/);
    bench.assertClean(2);
  });

  it.each([
    ['OVERLOADED', 503],
    ['DEADLINE_EXCEEDED', 504],
    ['DRAINING', 503],
  ] as const)('what admission refuses: %s is %i', (code, status) => {
    const bench = aBench();
    bench.inference.refuseNext = new GimbalError(code, 'Cannot take it', { retryAfterMs: 1000 });
    expect(bench.ask(infer({ inputs: [ROW] })).status).toBe(status);
    expect(bench.inference.calls).toEqual([]);
    bench.assertClean(1);
  });

  it.each([
    ['RUNNER_CRASHED', 503],
    ['MODEL_FAULT', 500],
    ['RUNNER_TIMED_OUT', 504],
  ] as const)('a failed run: %s is %i', (code, status) => {
    const bench = aBench();
    bench.inference.failWith = new GimbalError(code, 'Cannot run');
    expect(bench.ask(infer({ inputs: [ROW] })).status).toBe(status);
    bench.assertClean(1);
  });

  it('strings that are not UTF-8 as JSON, the call closed', () => {
    const bench = aBench([aTensorSpec('S', 'BYTES', [-1, 1])]);
    const input = { name: 'S', datatype: 'BYTES', shape: [1, 1], parameters: { binary_data_size: 5 } };
    const exchange = bench.ask(infer({ inputs: [input] }, [Uint8Array.of(1, 0, 0, 0, 0xff)]));
    expect(exchange.status).toBeGreaterThanOrEqual(400);
    expect(exchange.text).toMatch(/UTF-8/);
    bench.assertClean(1);
  });
});
