import { gzipSync } from 'node:zlib';
import { GimbalError } from '@gimbal/core';
import { describe, expect, it } from 'vitest';
import { FrontBench } from '../front/testing/front-bench.ts';
import type { EdgeLimits } from '../route.ts';
import type { FakeExchange } from '../testing/fake-exchange.ts';
import { aFakeModel, anAddSubModel, aSignature, aTensorSpec, aVersionSpec } from '../testing/fake-model.ts';
import { predictRoutes } from './predict-routes.ts';

const JPEG = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 1, 2, 3, 4]);
const JSON_TYPE = { 'content-type': 'application/json' };

const seen: Uint8Array[] = [];
const parametersSeen: unknown[] = [];

function answer(encoded: Uint8Array, parameters: unknown): string {
  seen.push(encoded.slice());
  parametersSeen.push(parameters);
  return `"predictions":[{"class_id":${encoded.length},"label":"ö","confidence":0.5}]`;
}

const models = [
  aFakeModel({
    spec: aVersionSpec({
      model: 'digits',
      task: 'tabular',
      signature: aSignature({ inputs: [aTensorSpec('X', 'FP32', [-1, 4])] }),
      columns: ['a', 'b', 'c', 'd'],
    }),
    answer,
  }),
  aFakeModel({
    spec: aVersionSpec({
      model: 'eyes',
      task: 'image-classification',
      signature: aSignature({ inputs: [aTensorSpec('image', 'FP32', [-1, 3, 2, 2])] }),
    }),
    answer,
  }),
  aFakeModel({ spec: aVersionSpec({ model: 'words', task: 'text-embedding' }), answer }),
  aFakeModel({
    spec: aVersionSpec({
      model: 'loose',
      signature: aSignature({ inputs: [aTensorSpec('X', 'INT64', [-1, -1])], batchAxis: 'none' }),
    }),
    answer,
  }),
  anAddSubModel(),
];

function aBench(limits: Partial<EdgeLimits> = {}): FrontBench {
  seen.length = 0;
  parametersSeen.length = 0;
  return new FrontBench(models, predictRoutes, { limits });
}

function json(model: string, body: unknown): { url: string; headers: Record<string, string>; body: string } {
  return {
    url: `/v1/models/${model}/predict`,
    headers: JSON_TYPE,
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
}

function form(parts: readonly (readonly [head: string, content: string | Uint8Array])[]) {
  const pieces = parts.flatMap(([head, content]) => [
    Buffer.from(`--B\r\nContent-Disposition: form-data; ${head}\r\n\r\n`),
    Buffer.from(content as string),
    Buffer.from('\r\n'),
  ]);
  return {
    headers: { 'content-type': 'multipart/form-data; boundary=B' },
    body: Buffer.concat([...pieces, Buffer.from('--B--\r\n')]),
  };
}

function floats(bytes: Uint8Array | undefined): number[] {
  return [...new Float32Array(Uint8Array.from(bytes ?? []).buffer)];
}

function problem(exchange: FakeExchange): Record<string, unknown> & { errors: Record<string, string>[] } {
  expect(exchange.answer?.headers.get('content-type')).toBe('application/problem+json');
  return exchange.json as never;
}

describe('predict with JSON', () => {
  it('answers one input with the members of the design', () => {
    const bench = aBench();
    const exchange = bench.ask(json('digits', { input: [1, 2, 3, 4.5] }));
    expect(exchange.status).toBe(200);
    expect(exchange.json).toEqual({
      model: 'digits',
      version: '1',
      variant: 'default',
      degraded: false,
      predictions: [{ class_id: 16, label: 'ö', confidence: 0.5 }],
      request_id: exchange.answer?.headers.get('x-request-id'),
      timings_ms: { queue: 0.5, batch: 0.25, preprocess: 0, infer: 2, postprocess: 0, total: 0 },
    });
    expect(floats(seen[0])).toEqual([1, 2, 3, 4.5]);
    bench.assertClean(1);
  });

  it.each([
    ['nested with its batch axis', [[1, 2, 3, 4]]],
    ['an object by column name, in any order', { d: 4, a: 1, c: 3, b: 2 }],
    ['an object by input name', { X: [1, 2, 3, 4] }],
  ])('takes a row as %s', (_name, input) => {
    const bench = aBench();
    const exchange = bench.ask(json('digits', { input }));
    expect(exchange.status).toBe(200);
    expect(floats(seen[0])).toEqual([1, 2, 3, 4]);
    bench.assertClean(1);
  });

  it('answers several rows of one input as results', () => {
    const bench = aBench();
    const exchange = bench.ask(
      json('digits', {
        input: [
          [1, 2, 3, 4],
          [5, 6, 7, 8],
        ],
      }),
    );
    expect((exchange.json as { results: unknown[] }).results).toHaveLength(2);
    expect(bench.record.rows).toBe(2);
    bench.assertClean(1);
  });

  it('takes base64, data URIs and wrapped images, byte for byte', () => {
    const base64 = JPEG.toString('base64');
    for (const input of [base64, `data:image/jpeg;base64,${base64}`, { image: base64 }]) {
      const bench = aBench();
      expect(bench.ask(json('eyes', { input })).status).toBe(200);
      expect(Buffer.from(seen[0] ?? [])).toEqual(JPEG);
      bench.assertClean(1);
    }
  });

  it('takes base64 with escaped slashes', () => {
    const bench = aBench();
    const body = `{"input":"${JPEG.toString('base64').replaceAll('/', '\\/')}"}`;
    expect(bench.ask(json('eyes', body)).status).toBe(200);
    expect(Buffer.from(seen[0] ?? [])).toEqual(JPEG);
  });

  it.each([
    ['not base64', 'no base64 at all!', 'a string that is not base64'],
    ['a URL', 'https://example.org/cat.jpg', 'a URL'],
    ['a data URI without base64', 'data:image/png,abc', 'a data URI without ";base64,"'],
    ['an empty string', '', 'an empty string'],
  ])('refuses an image that is %s', (_name, input, received) => {
    const bench = aBench();
    const exchange = bench.ask(json('eyes', { input }));
    expect(exchange.status).toBe(422);
    expect(problem(exchange).errors[0]).toMatchObject({ pointer: '/input', received });
    bench.assertClean(1);
  });

  it('takes texts, also with non-ASCII characters', () => {
    const bench = aBench();
    expect(bench.ask(json('words', { input: 'größe 😀' })).status).toBe(200);
    expect(Buffer.from(seen[0] ?? []).toString()).toBe('größe 😀');
    expect(bench.ask(json('words', { input: { text: 'a' } })).status).toBe(200);
    bench.assertClean(2);
  });

  it('takes several inputs by name', () => {
    const bench = aBench();
    const row = Array.from({ length: 16 }, (_, index) => index);
    const exchange = bench.ask(json('add-sub', { input: { INPUT1: row, INPUT0: [row] } }));
    expect(exchange.status).toBe(200);
    const wrong = bench.ask(json('add-sub', { input: { INPUT0: row, INPUT2: row } }));
    expect(problem(wrong).errors[0]?.hint).toMatch(/did you mean "INPUT[01]"/);
    const uneven = bench.ask(json('add-sub', { input: { INPUT0: [row, row], INPUT1: [row] } }));
    expect(uneven.status).toBe(422);
    const array = bench.ask(json('add-sub', { input: row }));
    expect(problem(array).detail).toContain('give each by its name');
    bench.assertClean(4);
  });

  it('keeps shapes of models without a batch axis, and 64-bit integers', () => {
    const bench = aBench();
    expect(bench.ask(json('loose', '{"input":[[9007199254740993],[2]]}')).status).toBe(200);
    expect(bench.inference.calls[0]?.works[0]?.request).toMatchObject({
      rows: 1,
      input: { tensors: [{ shape: [2, 1] }] },
    });
    expect(Buffer.from(seen[0] ?? []).readBigInt64LE(0)).toBe(9007199254740993n);
    bench.assertClean(1);
  });

  it('names the place and the nearest name of what is wrong', () => {
    const bench = aBench();
    const cases: [unknown, number, string, string | undefined][] = [
      [{ input: [1, 2, 3] }, 422, '/input', undefined],
      [{ input: [1, 2, 3, 4, 5] }, 422, '/input/4', undefined],
      [{ input: [1, 'x', 3, 4] }, 422, '/input/1', undefined],
      [{ input: { a: 1, b: 2, c: 3, e: 4 } }, 422, '/input/e', 'did you mean "a"?'],
      [{ inpu: [1, 2, 3, 4] }, 422, '/inpu', 'did you mean "input"?'],
      [{ input: [1, 2, 3, 4], parameters: { topk: 3 } }, 422, '/parameters', 'did you mean "top_k"?'],
      [{ input: [1, 2, 3, 4], parameters: { top_k: 0 } }, 422, '/parameters/top_k', undefined],
      [{ input: [1, 2, 3, 4], parameters: { threshold: 2 } }, 422, '/parameters/threshold', undefined],
      [{ input: [1, 2, 3, 4], parameters: { timeout_ms: -1 } }, 422, '/parameters/timeout_ms', undefined],
      [{ input: [1, 2, 3, 4], inputs: [] }, 422, '/inputs', undefined],
      [{ inputs: [] }, 422, '/inputs', undefined],
      [{}, 422, '', undefined],
      ['{"input":[1,2', 400, '/input/1', undefined],
      ['[1]', 422, '', undefined],
      ['', 422, '', undefined],
    ];
    for (const [body, status, pointer, hint] of cases) {
      const exchange = bench.ask(json('digits', body));
      expect([body, exchange.status]).toEqual([body, status]);
      const [field] = problem(exchange).errors;
      if (hint !== undefined) expect(field?.hint).toContain(hint.slice(0, 20));
      expect([body, field?.pointer?.startsWith(pointer.slice(0, 7))]).toEqual([body, true]);
    }
    bench.assertClean(cases.length);
  });

  it('hands parameters on and defaults the rest', () => {
    const bench = aBench();
    bench.ask(json('digits', { parameters: { top_k: 2, threshold: 0.25 }, input: [1, 2, 3, 4] }));
    bench.ask(json('digits', { input: [1, 2, 3, 4] }));
    bench.ask({ ...json('digits', { input: [1, 2, 3, 4] }), url: '/v1/models/digits/predict?top_k=7' });
    expect(parametersSeen).toEqual([
      { topK: 2, threshold: 0.25 },
      { topK: 5, threshold: 0 },
      { topK: 7, threshold: 0 },
    ]);
  });

  it('admits again with the smaller budget of the body', () => {
    const bench = aBench();
    const request = json('digits', { input: [1, 2, 3, 4], parameters: { timeout_ms: 20 } });
    expect(bench.ask(request).status).toBe(200);
    expect(bench.inference.calls.map((call) => call.context.timeoutMs)).toEqual([undefined, 20]);
    const header = { ...request, headers: { ...JSON_TYPE, 'inference-timeout-ms': '10' } };
    expect(bench.ask(header).status).toBe(200);
    expect(bench.inference.calls.map((call) => call.context.timeoutMs)).toEqual([undefined, 20, 10]);
    bench.assertClean(2);
  });
});

describe('predict with several inputs', () => {
  it('answers each by itself: a bad one never fails its neighbours', () => {
    const bench = aBench();
    const exchange = bench.ask(json('digits', { inputs: [[1, 2, 3, 4], [1], 'x', [5, 6, 7, 8]] }));
    expect(exchange.status).toBe(200);
    const { results } = exchange.json as { results: Record<string, { code?: string }>[] };
    expect(results.map((result) => result.error?.code ?? 'ok')).toEqual([
      'ok',
      'INVALID_INPUT',
      'INVALID_INPUT',
      'ok',
    ]);
    expect(results[0]).toMatchObject({ variant: 'default', degraded: false });
    bench.assertClean(1);
  });

  it('gives the memory of refused inputs back at once', () => {
    const bench = aBench();
    bench.start(
      json('digits', {
        inputs: [
          [1, 2, 3, 'x'],
          [1, 2, 3, 4],
        ],
      }),
    );
    expect(bench.inference.arena.out).toBe(1);
    bench.inference.settleAll();
    bench.assertClean(1);
  });

  it('fails with the first error and lists all when every input failed', () => {
    const bench = aBench();
    const exchange = bench.ask(json('digits', { inputs: [[1], [2]] }));
    expect(exchange.status).toBe(422);
    expect(problem(exchange).results).toHaveLength(2);
    bench.inference.failWith = new GimbalError('OVERLOADED', 'Cannot run', { retryAfterMs: 2000 });
    const shed = bench.ask(json('digits', { inputs: [[1, 2, 3, 4]] }));
    expect(shed.status).toBe(503);
    expect(Number(shed.answer?.headers.get('retry-after'))).toBeGreaterThanOrEqual(2);
    bench.assertClean(2);
  });

  it('refuses more inputs than allowed', () => {
    const bench = aBench({ maxInputs: 2 });
    const exchange = bench.ask(
      json('digits', {
        inputs: [
          [1, 2, 3, 4],
          [1, 2, 3, 4],
          [1, 2, 3, 4],
        ],
      }),
    );
    expect(exchange.status).toBe(413);
    bench.assertClean(1);
  });

  it('ends the whole request for broken syntax inside a bad input', () => {
    const bench = aBench();
    expect(bench.ask(json('digits', '{"inputs":[[1],[1,2,,3]]}')).status).toBe(400);
    bench.assertClean(1);
  });
});

describe('predict with other bodies', () => {
  it('streams an image of known length into arena memory, in whatever pieces', () => {
    const bench = aBench();
    const exchange = bench.ask({
      url: '/v1/models/eyes/predict?top_k=2',
      headers: { 'content-type': 'image/jpeg' },
      body: JPEG,
      pieces: [1, 3, 2],
    });
    expect(exchange.status).toBe(200);
    expect(Buffer.from(seen[0] ?? [])).toEqual(JPEG);
    expect(parametersSeen).toEqual([{ topK: 2, threshold: 0 }]);
    bench.assertClean(1);
  });

  it.each(['chunked', 'gzip'])('takes an image that came %s', async (how) => {
    const bench = aBench();
    const exchange = bench.start({
      url: '/v1/models/eyes/predict',
      headers: { 'content-type': 'image/jpeg', ...(how === 'gzip' ? { 'content-encoding': 'gzip' } : {}) },
      body: how === 'gzip' ? gzipSync(JPEG) : JPEG,
      chunked: how === 'chunked',
    });
    await expect.poll(() => bench.inference.settleAll()).toBe(1);
    expect(exchange.status).toBe(200);
    expect(Buffer.from(seen[0] ?? [])).toEqual(JPEG);
    bench.assertClean(1);
  });

  it('stops decompression at the limit', async () => {
    const bench = aBench();
    const exchange = bench.start({
      url: '/v1/models/eyes/predict',
      headers: { 'content-type': 'image/jpeg', 'content-encoding': 'gzip' },
      body: gzipSync(Buffer.alloc(2 * 1024 * 1024)),
    });
    await expect.poll(() => exchange.answer?.status).toBe(413);
    bench.assertClean(1);
  });

  it('names the codings that it knows', () => {
    const bench = aBench();
    const exchange = bench.ask({
      url: '/v1/models/eyes/predict',
      headers: { 'content-type': 'image/jpeg', 'content-encoding': 'br' },
      body: JPEG,
    });
    expect(exchange.status).toBe(415);
    expect(exchange.answer?.headers.get('accept-encoding')).toBe('gzip, deflate');
    bench.assertClean(1);
  });

  it('takes a text and refuses what is not UTF-8', () => {
    const bench = aBench();
    const url = '/v1/models/words/predict';
    const headers = { 'content-type': 'text/plain; charset=UTF-8' };
    expect(bench.ask({ url, headers, body: 'größe' }).status).toBe(200);
    expect(Buffer.from(seen[0] ?? []).toString()).toBe('größe');
    expect(bench.ask({ url, headers, body: Buffer.from([0xc3]) }).status).toBe(422);
    expect(
      bench.ask({ url, headers: { 'content-type': 'text/plain; charset=latin1' }, body: 'x' }).status,
    ).toBe(415);
    expect(bench.ask({ url, headers, body: '' }).status).toBe(422);
    bench.assertClean(4);
  });

  it('takes raw tensors, one row or several, and pictures sent without their type', () => {
    const bench = aBench();
    const headers = { 'content-type': 'application/octet-stream' };
    const row = new Uint8Array(new Float32Array([1, 2, 3, 4]).buffer);
    expect(bench.ask({ url: '/v1/models/digits/predict', headers, body: row }).status).toBe(200);
    const rows = bench.ask({ url: '/v1/models/digits/predict', headers, body: Buffer.concat([row, row]) });
    expect((rows.json as { results: unknown[] }).results).toHaveLength(2);
    expect(bench.ask({ url: '/v1/models/digits/predict', headers, body: row.slice(1) }).status).toBe(422);
    expect(bench.ask({ url: '/v1/models/eyes/predict', headers, body: JPEG }).status).toBe(200);
    expect(Buffer.from(seen.at(-1) ?? [])).toEqual(JPEG);
    bench.assertClean(4);
  });

  it('takes forms with one or several files and parameters', () => {
    const bench = aBench();
    const url = '/v1/models/eyes/predict';
    const one = bench.ask({
      url,
      ...form([
        ['name="image"; filename="cat.jpg"', JPEG],
        ['name="parameters"', '{"top_k":3}'],
      ]),
    });
    expect(one.json).toMatchObject({ predictions: [{ class_id: JPEG.length }] });
    expect(parametersSeen).toEqual([{ topK: 3, threshold: 0 }]);
    const two = bench.ask({
      url,
      ...form([
        ['name="file"; filename="a"', JPEG],
        ['name="image"', ''],
        ['name="top_k"', '4'],
      ]),
    });
    const { results } = two.json as { results: { error?: { code: string } }[] };
    expect(results.map((result) => result.error?.code)).toEqual([undefined, 'INVALID_INPUT']);
    const wrong = bench.ask({ url, ...form([['name="imag"', JPEG]]) });
    expect(problem(wrong).errors[0]?.hint).toContain('image');
    bench.assertClean(3);
  });

  it('guesses the kind of a body without a type, and says what it takes when it can not', () => {
    const bench = aBench();
    expect(bench.ask({ url: '/v1/models/eyes/predict', headers: {}, body: JPEG }).status).toBe(200);
    const curl = { 'content-type': 'application/x-www-form-urlencoded' };
    const body = '{"input":[1,2,3,4]}';
    expect(bench.ask({ url: '/v1/models/digits/predict', headers: curl, body }).status).toBe(200);
    const lost = bench.ask({ url: '/v1/models/words/predict', headers: {}, body: JPEG });
    expect(lost.status).toBe(415);
    expect(problem(lost).detail).toContain('text/plain, application/json');
    expect(problem(lost).detail).toContain('image/jpeg');
    bench.assertClean(3);
  });

  it('refuses types that the model does not take before reading', () => {
    const bench = aBench();
    const exchange = bench.ask({
      url: '/v1/models/words/predict',
      headers: { 'content-type': 'image/png' },
      body: JPEG,
    });
    expect(exchange.status).toBe(415);
    expect(exchange.bodyAsked).toBe(false);
    expect(bench.inference.calls).toHaveLength(0);
  });
});
