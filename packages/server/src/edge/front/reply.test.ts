import { describe, expect, it } from 'vitest';
import type { EdgeRequest, Inferred, Route } from '../route.ts';
import { aFakeModel, aVersionSpec } from '../testing/fake-model.ts';
import { twoDecimals } from './answer-headers.ts';
import { FrontBench } from './testing/front-bench.ts';

const how: Inferred = {
  variant: 'lite0',
  rung: 0,
  batchRows: 3,
  timings: { queueMs: 0.404, batchMs: 2.1, preprocessMs: 0, inferMs: 14, postprocessMs: 1234.567 },
};

function aBench(run: (request: EdgeRequest) => void, model = 'm'): FrontBench {
  const route: Route = { method: 'GET', pattern: '/x', protocol: 'native', errors: 'problem', run };
  return new FrontBench([aFakeModel({ spec: aVersionSpec({ model }) })], () => [route]);
}

describe('Reply', () => {
  it('writes the headers of an inference and records it once', () => {
    const bench: FrontBench = aBench((request) => {
      request.reply.about(bench.inference.resolve('m', undefined), 2);
      bench.clock.nowMs = 20.256;
      request.reply.inferred({ status: 200, contentType: 'application/json', body: 'ö€😀' }, how);
    });
    const exchange = bench.start({ url: '/x' });
    expect([...(exchange.answer?.headers ?? [])].slice(1)).toEqual([
      ['inference-model', 'm'],
      ['inference-version', '1'],
      ['inference-variant', 'lite0'],
      ['inference-batch-size', '3'],
      [
        'server-timing',
        'queue;dur=0.40, batch;dur=2.10, preprocess;dur=0.00, infer;dur=14.00, postprocess;dur=1234.57, total;dur=20.26',
      ],
      ['content-type', 'application/json'],
    ]);
    expect(bench.record).toMatchObject({
      outcome: 'ok',
      status: 200,
      variant: 'lite0',
      rows: 2,
      batchRows: 3,
      queueMs: 0.404,
      totalMs: 20.256,
      responseBytes: 9,
    });
    bench.assertClean(1);
  });

  it('says when a lower rung answered', () => {
    const bench: FrontBench = aBench((request) => {
      request.reply.about(bench.inference.resolve('m', undefined), 1);
      request.reply.inferred({ status: 200, contentType: undefined, body: '' }, { ...how, rung: 2 });
    });
    const { answer } = bench.start({ url: '/x' });
    expect(answer?.headers.get('inference-degraded')).toBe('rung=2;reason="unavailable"');
    expect(bench.record).toMatchObject({ outcome: 'degraded', rung: 2 });
  });

  it('lets only the first end count and still gives lent memory back', () => {
    let flushed = 0;
    const bench = aBench((request) => {
      const onFlushed = (): void => {
        flushed += 1;
      };
      request.reply.send({ status: 200, contentType: undefined, body: '', onFlushed });
      request.reply.send({ status: 201, contentType: undefined, body: '', onFlushed });
      request.reply.fail(new Error('late'), { onFlushed });
    });
    expect(bench.start({ url: '/x' }).status).toBe(200);
    expect(flushed).toBe(3);
    bench.assertClean(1);
  });

  it('records a client that goes away, and answers nobody after', () => {
    let aborted = 0;
    let asked: EdgeRequest | undefined;
    const bench = aBench((request) => {
      asked = request;
      request.reply.onAbort(() => {
        aborted += 1;
      });
    });
    const exchange = bench.start({ url: '/x' });
    exchange.abort();
    asked?.reply.send({ status: 200, contentType: undefined, body: '' });
    expect([aborted, exchange.answer, bench.record.outcome]).toEqual([1, undefined, 'cancelled']);
    bench.assertClean(1);
  });

  it('writes names that are not ASCII so that they stay one header', () => {
    const bench: FrontBench = aBench((request) => {
      request.reply.about(bench.inference.resolve('größe', undefined), 1);
      request.reply.inferred({ status: 200, contentType: undefined, body: '' }, how);
    }, 'größe');
    const { answer } = bench.start({ url: '/x' });
    expect(answer?.headers.get('inference-model')).toBe('gr%C3%B6%C3%9Fe');
  });
});

describe('twoDecimals', () => {
  it.each([
    [0, '0.00'],
    [-0.01, '0.00'],
    [Number.NaN, '0.00'],
    [0.005, '0.01'],
    [0.994, '0.99'],
    [0.996, '1.00'],
    [12.3, '12.30'],
    [1e6, '1000000.00'],
  ])('writes %f as %s', (value, text) => {
    expect(twoDecimals(value)).toBe(text);
  });
});
