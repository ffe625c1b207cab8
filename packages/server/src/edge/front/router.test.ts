import { ERROR_CODES, type ErrorCode, GimbalError } from '@gimbal/core';
import { describe, expect, it } from 'vitest';
import type { EdgeRequest, Route } from '../route.ts';
import { aFakeModel } from '../testing/fake-model.ts';
import { statusOf } from './errors.ts';
import { FrontBench } from './testing/front-bench.ts';

let seen: EdgeRequest | undefined;
let toThrow: unknown;

function route(method: 'GET' | 'POST', pattern: string, protocol: Route['protocol'] = 'native'): Route {
  return {
    method,
    pattern,
    protocol,
    errors: protocol === 'v2' ? 'v2' : 'problem',
    run(request): void {
      seen = request;
      if (toThrow !== undefined) throw toThrow;
      request.reply.send({ status: 200, contentType: 'text/plain', body: pattern });
    },
  };
}

const routes = [
  route('GET', '/v1/models'),
  route('GET', '/v1/models/{model}'),
  route('POST', '/v1/models/{model}/predict'),
  route('POST', '/v1/models/{model}/versions/{version}/predict'),
  route('GET', '/v2/models/stats', 'v2'),
  route('GET', '/v2/models/{name}', 'v2'),
  route('GET', '/v2/models/{name}/versions/{version}', 'v2'),
  route('GET', '/'),
];

function aBench(thrown?: unknown): FrontBench {
  toThrow = thrown;
  seen = undefined;
  return new FrontBench([aFakeModel()], () => routes);
}

describe('Router', () => {
  it.each([
    ['GET', '/', '/', {}],
    ['GET', '/v1/models', '/v1/models', {}],
    ['GET', '/v1/models/a%20b', '/v1/models/{model}', { model: 'a b' }],
    ['POST', '/v1/models/m/predict', '/v1/models/{model}/predict', { model: 'm' }],
    ['GET', '/v2/models/stats', '/v2/models/stats', {}],
    [
      'GET',
      '/v2/models/stats/versions/2',
      '/v2/models/{name}/versions/{version}',
      { name: 'stats', version: '2' },
    ],
    ['HEAD', '/v1/models', '/v1/models', {}],
  ])('finds %s %s', (method, url, pattern, parameters) => {
    const bench = aBench();
    expect(bench.start({ method, url }).text).toBe(pattern);
    // Remembered paths match like new ones.
    expect(bench.start({ method, url }).text).toBe(pattern);
    expect({ ...seen?.parameters }).toEqual(parameters);
    bench.assertClean(2);
  });

  it('forgets paths rather than keep more than its bound', () => {
    const bench = aBench();
    for (let index = 0; index < 3000; index += 1) {
      expect(bench.start({ url: `/v1/models/m${index}` }).status).toBe(200);
    }
    expect(seen?.parameters).toEqual({ model: 'm2999' });
  });

  it('hints at the nearest path and keeps the raw path out of records', () => {
    const bench = aBench();
    const exchange = bench.start({ method: 'POST', url: '/v1/model/digits/predict' });
    expect(exchange.status).toBe(404);
    expect((exchange.json as { detail: string }).detail).toContain(
      'did you mean "/v1/models/digits/predict"?',
    );
    expect(bench.record).toMatchObject({ route: '(unmatched)', code: 'ROUTE_NOT_FOUND', status: 404 });
    const slash = bench.start({ url: '/v1/models/' });
    expect((slash.json as { detail: string }).detail).toContain('did you mean "/v1/models"?');
  });

  it('writes V2 errors below /v2 and problems elsewhere', () => {
    const bench = aBench();
    const v2 = bench.start({ url: '/v2/nothing' });
    expect(Object.keys(v2.json as object)).toEqual(['error', 'code', 'request_id']);
    expect(v2.answer?.headers.get('content-type')).toBe('application/json');
    expect(bench.start({ url: '/nothing' }).answer?.headers.get('content-type')).toBe(
      'application/problem+json',
    );
  });

  it('names the methods of a path', () => {
    const bench = aBench();
    const wrong = bench.start({ method: 'GET', url: '/v1/models/m/predict' });
    expect([wrong.status, wrong.answer?.headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
    const strange = bench.start({ method: 'BREW', url: '/v1/models' });
    expect([strange.status, strange.answer?.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
    expect(bench.record.method).toBe('_OTHER');
    const options = bench.start({ method: 'OPTIONS', url: '/v1/models' });
    expect([options.status, options.text, options.answer?.headers.get('allow')]).toEqual([
      204,
      '',
      'GET, HEAD, OPTIONS',
    ]);
    expect(bench.start({ method: 'OPTIONS', url: '/nothing' }).status).toBe(404);
  });

  it.each(['/v1/models/%', '/v1/models/%zz', '/v1/models/%ff', '/v1/models/%C3%28'])('refuses %s', (url) => {
    const bench = aBench();
    const exchange = bench.start({ url });
    expect(exchange.status).toBe(400);
    expect(bench.record.code).toBe('MALFORMED_REQUEST');
  });

  it('keeps request ids of the accepted form and makes UUIDs of version 7 for others', () => {
    const bench = aBench();
    const idOf = (given: string): string | undefined =>
      bench.start({ url: '/', headers: { 'x-request-id': given } }).answer?.headers.get('x-request-id');
    expect(idOf('A-b.c_9')).toBe('A-b.c_9');
    expect(idOf('x'.repeat(128))).toBe('x'.repeat(128));
    const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    const made = ['', 'a b', 'x'.repeat(129), 'ö', 'a/b'].map(idOf);
    for (const id of made) expect(id).toMatch(uuid);
    expect(new Set(made).size).toBe(made.length);
    expect(Number.parseInt((made[0] ?? '').replaceAll('-', '').slice(0, 12), 16)).toBe(1_800_000_000_000);
    const failed = bench.start({ url: '/nothing', headers: { 'x-request-id': 'mine' } });
    expect((failed.json as { request_id: string }).request_id).toBe('mine');
  });

  it('takes the smallest budget and refuses what is none', () => {
    const bench = aBench();
    const timeoutOf = (headers: Record<string, string>) => {
      bench.start({ url: '/', headers });
      return seen?.context.timeoutMs;
    };
    expect(timeoutOf({})).toBeUndefined();
    expect(timeoutOf({ 'inference-timeout-ms': '250' })).toBe(250);
    expect(timeoutOf({ 'inference-timeout-ms': '250', 'x-envoy-expected-rq-timeout-ms': '90.5' })).toBe(90.5);
    for (const text of ['', '-1', '0', 'NaN', '1e3', '0x10', '1.2.3', '.', 'soon']) {
      const exchange = bench.start({ url: '/', headers: { 'inference-timeout-ms': text } });
      expect([text, exchange.status]).toEqual([text, 400]);
      expect((exchange.json as { errors: { pointer: string }[] }).errors[0]?.pointer).toBe(
        'header:Inference-Timeout-Ms',
      );
    }
  });

  it('takes known criticalities only', () => {
    const bench = aBench();
    bench.start({ url: '/', headers: { 'inference-criticality': 'sheddable' } });
    expect(seen?.context.criticality).toBe('sheddable');
    const wrong = bench.start({ url: '/', headers: { 'inference-criticality': 'critcal' } });
    expect(wrong.status).toBe(422);
    expect(wrong.text).toContain('did you mean \\"critical\\"?');
  });

  it('continues valid traces only', () => {
    const bench = aBench();
    const trace = '0af7651916cd43dd8448eb211c80319c';
    const traceOf = (traceparent: string) => {
      bench.start({ url: '/', headers: { traceparent } });
      return bench.record.traceId;
    };
    expect(traceOf(`00-${trace}-b7ad6b7169203331-01`)).toBe(trace);
    expect(traceOf(`cc-${trace}-b7ad6b7169203331-01-more`)).toBe(trace);
    for (const bad of [
      `ff-${trace}-b7ad6b7169203331-01`,
      `00-${trace}-b7ad6b7169203331-01-more`,
      `cc-${trace}-b7ad6b7169203331-01more`,
      `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
      `00-${trace}-${'0'.repeat(16)}-01`,
      `00-${trace.toUpperCase()}-b7ad6b7169203331-01`,
      `00-${trace}-b7ad6b7169203331-0`,
      '',
    ]) {
      expect([bad, traceOf(bad)]).toEqual([bad, undefined]);
    }
  });

  it('reads queries strictly', () => {
    const bench = aBench();
    bench.start({ url: '/?a=1&b=x%20y+z&a=2&c' });
    expect([...(seen?.query ?? [])]).toEqual([
      ['a', '2'],
      ['b', 'x y z'],
      ['c', ''],
    ]);
    bench.start({ url: '/?a=%' });
    expect(() => seen?.query).toThrow('percent-encoding');
  });
});

describe('error answers', () => {
  it.each(ERROR_CODES.filter((code) => code !== 'CANCELLED'))(
    'answer %s by the registry',
    (code: ErrorCode) => {
      const bench = aBench(
        new GimbalError(code, 'Cannot do it: "x"', {
          retryAfterMs: 3000,
          extra: { estimated_seconds: 3 },
          fields: [{ pointer: '/input', expected: 'a', received: 'b', hint: 'c' }],
        }),
      );
      const problem = bench.start({ url: '/v1/models' });
      expect(problem.status).toBe(statusOf(code, 'problem'));
      expect(problem.json).toMatchObject({
        type: `/docs/errors#${code}`,
        status: problem.status,
        detail: 'Cannot do it: "x"',
        instance: '/v1/models',
        code,
        request_id: problem.answer?.headers.get('x-request-id'),
        estimated_seconds: 3,
        errors: [{ pointer: '/input', expected: 'a', received: 'b', hint: 'c' }],
      });
      const v2 = bench.start({ url: '/v2/models/m' });
      expect(v2.status).toBe(statusOf(code, 'v2'));
      expect((v2.json as { error: string }).error).toBe('Cannot do it: "x"');
      for (const { status, answer } of [problem, v2]) {
        const retryAfter = answer?.headers.get('retry-after');
        if (status === 429 || status === 503) expect(['3', '4', '5']).toContain(retryAfter);
        else expect(retryAfter).toBeUndefined();
      }
      bench.assertClean(2);
    },
  );

  it('spread their Retry-After', () => {
    const bench = aBench(new GimbalError('OVERLOADED', 'Cannot admit', { retryAfterMs: 10_000 }));
    const given = new Set<number>();
    for (let count = 0; count < 200; count += 1) {
      given.add(Number(bench.start({ url: '/' }).answer?.headers.get('retry-after')));
    }
    expect([...given].sort((a, b) => a - b)).toEqual([10, 11, 12, 13, 14, 15]);
  });

  it('say nothing of an unexpected failure, and log it', () => {
    const bench = aBench(new TypeError('secret /etc/path'));
    const exchange = bench.start({ url: '/' });
    expect(exchange.status).toBe(500);
    expect(exchange.text).not.toContain('secret');
    expect(exchange.text).not.toContain('.ts');
    expect(bench.record.code).toBe('INTERNAL');
    expect(bench.record.detail).toContain('secret /etc/path');
  });

  it('are never sent for a client that went away', () => {
    const bench = aBench(new GimbalError('CANCELLED', 'the client went away'));
    const exchange = bench.start({ url: '/' });
    expect(exchange.answer).toBeUndefined();
    expect(bench.record).toMatchObject({ status: 499, outcome: 'cancelled' });
  });
});
