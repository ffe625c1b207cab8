import { deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import { GimbalError } from '@gimbal/core';
import { describe, expect, it, vi } from 'vitest';
import { aTensorSpec } from '../testing/fake-model.ts';
import {
  aBench,
  BINARY_ROW,
  binaryOf,
  floats,
  infer,
  integers,
  jsonOf,
  LENGTH,
  ROW,
  strings,
} from './testing/infer-bench.ts';

describe('infer with JSON', () => {
  it('gives every output with name, datatype, shape and data, and echoes the id', () => {
    const bench = aBench();
    const exchange = bench.ask(infer({ id: 'a"ö', inputs: [{ ...ROW, data: [1.5, -0.1] }] }));
    expect(jsonOf(exchange)).toEqual({
      model_name: 'echo',
      model_version: '1',
      id: 'a"ö',
      outputs: [{ name: 'X_out', datatype: 'FP32', shape: [1, 2], data: [1.5, -0.1] }],
    });
    expect(exchange.answer?.headers.get('content-type')).toBe('application/json');
    expect(exchange.answer?.headers.has(LENGTH)).toBe(false);
    bench.assertClean(1);
  });

  it.each([{}, { id: '' }])('leaves the id out of the answer for %j', (given) => {
    const bench = aBench();
    expect(bench.ask(infer({ ...given, inputs: [ROW] })).text).not.toContain('"id"');
    bench.assertClean(1);
  });

  it('takes nested data, members in any order and unknown members', () => {
    const bench = aBench();
    const body =
      '{"x":[{"y":null}],"inputs":[{"data":[[1,2],[3,4]],"shape":[2,2],"z":{},"datatype":"FP32","name":"X"}]}';
    expect(jsonOf(bench.ask(infer(body))).outputs[0]?.data).toEqual([1, 2, 3, 4]);
    bench.assertClean(1);
  });

  it('hands binary BOOL on as it came, as Triton does; in JSON every byte but 0 is true', () => {
    const bench = aBench([aTensorSpec('B', 'BOOL', [-1, 4])]);
    const row = { name: 'B', datatype: 'BOOL', shape: [1, 4], parameters: { binary_data_size: 4 } };
    const bytes = Uint8Array.of(0, 1, 2, 255);
    const request = { inputs: [row], parameters: { binary_data_output: true } };
    expect([...binaryOf(bench.ask(infer(request, [bytes]))).rest]).toEqual([0, 1, 2, 255]);
    const text = jsonOf(bench.ask(infer({ inputs: [row] }, [bytes])));
    expect(text.outputs[0]?.data).toEqual([false, true, true, true]);
    bench.assertClean(2);
  });

  it('writes NaN and infinities bare and takes them', () => {
    const bench = aBench();
    const body = JSON.stringify({ inputs: [{ ...ROW, data: ['#', '##'] }] });
    const exchange = bench.ask(infer(body.replace('"#"', 'NaN').replace('"##"', '-Infinity')));
    expect(exchange.text).toContain('"data":[NaN,-Infinity]');
  });

  it('keeps 64-bit integers and strings exact', () => {
    const bench = aBench([aTensorSpec('I', 'INT64', [-1, 2]), aTensorSpec('S', 'BYTES', [-1, 1])]);
    const body = `{"inputs":[{"name":"S","datatype":"BYTES","shape":[1,1],"data":["é\\u0000\\"😀"]},{"name":"I","datatype":"INT64","shape":[1,2],"data":[9223372036854775807,-9223372036854775808]}]}`;
    const exchange = bench.ask(infer(body));
    expect(exchange.text).toContain('[9223372036854775807,-9223372036854775808]');
    expect(jsonOf(exchange).outputs[1]?.data).toEqual(['é\u0000"😀']);
    bench.assertClean(1);
  });

  it('puts inputs in the order of the signature', () => {
    const bench = aBench();
    const one = (name: string, first: number) => ({
      name,
      datatype: 'INT32',
      shape: [1, 16],
      data: integers(first),
    });
    const exchange = bench.ask(
      infer({ inputs: [one('INPUT1', 0), one('INPUT0', 100)], outputs: [{ name: 'OUTPUT1' }] }, undefined, {
        url: '/v2/models/add-sub/versions/1/infer',
      }),
    );
    expect(jsonOf(exchange).outputs).toEqual([
      { name: 'OUTPUT1', datatype: 'INT32', shape: [1, 16], data: new Array(16).fill(100) },
    ]);
    bench.assertClean(1);
  });

  it('answers no rows without a run, in JSON and binary', () => {
    const bench = aBench();
    const input = { ...ROW, shape: [0, 2], data: [] };
    const output = jsonOf(bench.ask(infer({ inputs: [input] }))).outputs[0];
    expect(output).toEqual({ name: 'X_out', datatype: 'FP32', shape: [0, 2], data: [] });
    const binary = bench.ask(infer({ inputs: [input], parameters: { binary_data_output: true } }));
    expect(jsonOf(binary).outputs[0]?.parameters).toEqual({ binary_data_size: 0 });
    expect(binary.answer?.headers.has(LENGTH)).toBe(false);
    expect(bench.inference.calls.flatMap(({ works }) => works)).toEqual([]);
    bench.assertClean(2);
  });

  it('joins the parts of a split request', () => {
    const bench = aBench();
    bench.inference.partRows = 2;
    const inputs = [{ ...ROW, shape: [5, 2], data: integers(0).slice(0, 10) }];
    expect(jsonOf(bench.ask(infer({ inputs }))).outputs[0]).toMatchObject({
      shape: [5, 2],
      data: integers(0).slice(0, 10),
    });
    const { json, rest } = binaryOf(bench.ask(infer({ inputs, parameters: { binary_data_output: true } })));
    expect(json.outputs[0]).toMatchObject({ shape: [5, 2], parameters: { binary_data_size: 40 } });
    expect(rest).toEqual(floats(...integers(0).slice(0, 10)));
    bench.assertClean(2);
  });
});

describe('infer in binary', () => {
  const tensors = [
    aTensorSpec('A', 'FP32', [-1, 2]),
    aTensorSpec('B', 'BYTES', [-1, 1]),
    aTensorSpec('C', 'FP16', [-1, 1]),
  ];
  const half = Uint8Array.of(0x00, 0x3c);

  it('mixes JSON and binary both ways, tensors in the order of the inputs', () => {
    const bench = aBench(tensors);
    const text = strings('xyz');
    const json = {
      inputs: [
        { name: 'C', datatype: 'FP16', shape: [1, 1], parameters: { binary_data_size: 2 } },
        { name: 'A', datatype: 'FP32', shape: [1, 2], data: [1, 2] },
        { name: 'B', datatype: 'BYTES', shape: [1, 1], parameters: { binary_data_size: text.length } },
      ],
      parameters: { binary_data_output: true },
      outputs: [{ name: 'C_out' }, { name: 'B_out', parameters: { binary_data: false } }, { name: 'A_out' }],
    };
    const { json: answer, rest } = binaryOf(bench.ask(infer(json, [half, text])));
    expect(answer.outputs.map(({ name, data, parameters }) => [name, data, parameters])).toEqual([
      ['C_out', undefined, { binary_data_size: 2 }],
      ['B_out', ['xyz'], undefined],
      ['A_out', undefined, { binary_data_size: 8 }],
    ]);
    expect(rest).toEqual(new Uint8Array(Buffer.concat([half, floats(1, 2)])));
    bench.assertClean(1);
  });

  it('takes JSON alone with the length header', () => {
    const bench = aBench();
    expect(jsonOf(bench.ask(infer({ inputs: [ROW] }, []))).outputs[0]?.data).toEqual([1, 2]);
    bench.assertClean(1);
  });

  it('takes a raw body as the one input and gives all outputs in binary', () => {
    const bench = aBench();
    const { json, rest } = binaryOf(
      bench.ask(infer('', undefined, { body: floats(3, 4), headers: { [LENGTH]: '0' } })),
    );
    expect(json.outputs[0]?.shape).toEqual([1, 2]);
    expect(rest).toEqual(floats(3, 4));
    bench.assertClean(1);
  });

  it('takes a raw body as one BYTES element, and finds a free length', () => {
    const bench = aBench([aTensorSpec('S', 'BYTES', [-1, 1])]);
    const raw = { body: 'hello', headers: { [LENGTH]: '0' } };
    expect(binaryOf(bench.ask(infer('', undefined, raw))).rest).toEqual(new Uint8Array(strings('hello')));
    bench.assertClean(1);
    const free = aBench([aTensorSpec('X', 'FP32', [-1, -1, 2])]);
    const six = infer('', undefined, { ...raw, body: floats(1, 2, 3, 4, 5, 6) });
    expect(binaryOf(free.ask(six)).json.outputs[0]?.shape).toEqual([1, 3, 2]);
    free.assertClean(1);
  });
});

describe('infer compressed', () => {
  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ] as const)('takes %s, the length header counting what was expanded', async (coding, compress) => {
    const bench = aBench();
    const input = { name: 'X', datatype: 'FP32', shape: [1, 2], parameters: { binary_data_size: 8 } };
    const plain = infer({ inputs: [input] }, [floats(7, 8)]);
    const exchange = bench.start({
      ...plain,
      body: compress(plain.body as Uint8Array),
      headers: { ...plain.headers, 'content-encoding': coding },
    });
    await vi.waitFor(() => expect(bench.inference.settleAll()).toBe(1));
    expect(jsonOf(exchange).outputs[0]?.data).toEqual([7, 8]);
    bench.assertClean(1);
  });

  it.each([
    ['gzip', gunzipSync],
    ['deflate', inflateSync],
  ] as const)('answers in %s, the length header counting what was not compressed', async (coding, expand) => {
    const bench = aBench();
    const json = { inputs: [ROW], parameters: { binary_data_output: true } };
    const exchange = bench.ask(
      infer(json, undefined, { headers: { 'accept-encoding': `br, ${coding}, identity;q=0.9` } }),
    );
    await vi.waitFor(() => expect(exchange.answer).toBeDefined());
    expect(exchange.answer?.headers.get('content-encoding')).toBe(coding);
    expect(binaryOf(exchange, expand(exchange.answer?.body ?? '')).rest).toEqual(Buffer.from(floats(1, 2)));
    bench.assertClean(1);
  });

  it('does not compress errors, nor what prefers identity', () => {
    const bench = aBench();
    const headers = { 'accept-encoding': 'gzip' };
    const error = bench.ask(infer('{', undefined, { headers }));
    expect(error.status).toBe(400);
    expect(error.answer?.headers.has('content-encoding')).toBe(false);
    const identity = bench.ask(
      infer({ inputs: [ROW] }, undefined, {
        headers: { 'accept-encoding': 'gzip;q=0, deflate;q=0.1, identity' },
      }),
    );
    expect(identity.answer?.headers.has('content-encoding')).toBe(false);
  });

  it.each([
    ['broken data', Buffer.from('no gzip'), 400],
    ['a bomb', gzipSync(Buffer.alloc(2 * 1024 * 1024)), 413],
  ])('refuses %s', async (_, body, status) => {
    const bench = aBench();
    const exchange = bench.start(infer('', undefined, { body, headers: { 'content-encoding': 'gzip' } }));
    await vi.waitFor(() => expect(exchange.answer?.status).toBe(status));
    bench.assertClean(1);
  });

  it('refuses other codings with 501 and those it takes', () => {
    const bench = aBench();
    const exchange = bench.ask(
      infer({ inputs: [ROW] }, undefined, { headers: { 'content-encoding': 'br' } }),
    );
    expect(exchange.status).toBe(501);
    expect(exchange.answer?.headers.get('accept-encoding')).toBe('gzip, deflate');
    bench.assertClean(1);
  });

  it('closes the call once when the client goes away during expansion', async () => {
    const bench = aBench();
    const body = gzipSync(JSON.stringify({ inputs: [ROW] }));
    const exchange = bench.start(infer('', undefined, { body, headers: { 'content-encoding': 'gzip' } }));
    exchange.abort();
    await new Promise((resolve) => setImmediate(() => setTimeout(resolve, 5)));
    expect(bench.inference.waiting).toEqual([]);
    bench.assertClean(1);
  });
});

describe('classification', () => {
  const scores = (classes: number, binary: boolean) => ({
    inputs: [{ name: 'X', datatype: 'FP32', shape: [2, 3], data: [0.1, 0.7, 0.2, 1, 1.0000001, 3] }],
    outputs: [{ name: 'X_out', parameters: { classification: classes, binary_data: binary } }],
  });
  const tensors = [aTensorSpec('X', 'FP32', [-1, 3])];

  it('gives the largest of each row with index and label', () => {
    const bench = aBench(tensors, ['a', 'b', 'c']);
    expect(jsonOf(bench.ask(infer(scores(2, false)))).outputs[0]).toEqual({
      name: 'X_out',
      datatype: 'BYTES',
      shape: [2, 2],
      data: ['0.7:1:b', '0.2:2:c', '3:2:c', '1.0000001:1:b'],
    });
    expect(binaryOf(bench.ask(infer(scores(1, true)))).rest).toEqual(
      new Uint8Array(strings('0.7:1:b', '3:2:c')),
    );
    bench.assertClean(2);
  });

  it('gives at most all classes, without labels where there are none', () => {
    const bench = aBench(tensors);
    const output = jsonOf(bench.ask(infer(scores(99, false)))).outputs[0];
    expect(output?.shape).toEqual([2, 3]);
    expect(output?.data?.slice(3)).toEqual(['3:2', '1.0000001:1', '1:0']);
    bench.assertClean(1);
  });

  it('orders 64-bit integers exactly, and NaN last', () => {
    const wide = aBench([aTensorSpec('X', 'INT64', [-1, 2])]);
    const body = (datatype: string, data: string, count: number) =>
      `{"inputs":[{"name":"X","datatype":"${datatype}","shape":[1,${count}],"data":[${data}]}],"outputs":[{"name":"X_out","parameters":{"classification":3}}]}`;
    const exchange = wide.ask(infer(body('INT64', '9007199254740992,9007199254740993', 2)));
    expect(jsonOf(exchange).outputs[0]?.data).toEqual(['9007199254740993:1', '9007199254740992:0']);
    const answer = aBench(tensors).ask(infer(body('FP32', '1,NaN,2', 3)));
    expect(jsonOf(answer).outputs[0]?.data).toEqual(['2:2', '1:0', 'NaN:1']);
  });
});

describe('the timeout parameter', () => {
  it('opens the call again with the smaller budget, in microseconds', () => {
    const bench = aBench();
    bench.ask(infer({ inputs: [ROW], parameters: { timeout: 50_000 } }));
    expect(bench.inference.calls.map(({ context }) => context.timeoutMs)).toEqual([undefined, 50]);
    bench.assertClean(1);
  });

  it.each([0, '0'])('is no limit for %j', (timeout) => {
    const bench = aBench();
    expect(bench.ask(infer({ inputs: [ROW], parameters: { timeout } })).status).toBe(200);
    expect(bench.inference.calls).toHaveLength(1);
    bench.assertClean(1);
  });

  it('answers a refusal of the second admission, the first call closed', () => {
    const bench = aBench();
    const body = infer({ inputs: [ROW], parameters: { timeout: 5 } });
    const exchange = bench.start({ ...body, manual: true });
    bench.inference.refuseNext = new GimbalError('DEADLINE_EXCEEDED', 'Cannot be in time');
    exchange.arrive(body.body as Uint8Array);
    exchange.end();
    expect(exchange.status).toBe(504);
    bench.assertClean(1);
  });
});

describe('infer, when the client goes away', () => {
  it('closes the call while the body arrives', () => {
    const bench = aBench();
    const request = infer({ inputs: [BINARY_ROW] }, [floats(1, 2)]);
    const exchange = bench.start({ ...request, manual: true });
    exchange.arrive((request.body as Uint8Array).subarray(0, -3));
    exchange.abort();
    expect(bench.record.outcome).toBe('cancelled');
    bench.assertClean(1);
  });

  it('closes the call while the model runs, and a late result changes nothing', () => {
    const bench = aBench();
    const exchange = bench.start(infer({ inputs: [ROW] }));
    expect(bench.inference.waiting).toHaveLength(1);
    exchange.abort();
    expect(bench.inference.settleAll()).toBe(0);
    expect(exchange.answer).toBeUndefined();
    bench.assertClean(1);
  });

  it('keeps the call until the answer has left', () => {
    const bench = aBench();
    const request = infer({ inputs: [ROW], parameters: { binary_data_output: true } }, undefined, {
      holdFlush: true,
    });
    const exchange = bench.ask(request);
    expect(bench.inference.calls[0]?.closed).toBe(false);
    exchange.flush();
    expect(binaryOf(exchange).rest).toEqual(floats(1, 2));
    bench.assertClean(1);
  });
});
