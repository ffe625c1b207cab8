import { GimbalError } from '@gimbal/core';
import { describe, expect, it } from 'vitest';
import { FrontBench } from '../front/testing/front-bench.ts';
import type { EdgeLimits } from '../route.ts';
import { aFakeModel, aSignature, aTensorSpec, aVersionSpec } from '../testing/fake-model.ts';
import { predictRoutes } from './predict-routes.ts';

const JPEG = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 1, 2, 3, 4]);
const JSON_TYPE = { 'content-type': 'application/json' };

const models = [
  aFakeModel({
    spec: aVersionSpec({
      model: 'digits',
      task: 'tabular',
      signature: aSignature({ inputs: [aTensorSpec('X', 'FP32', [-1, 4])] }),
    }),
  }),
  aFakeModel({ spec: aVersionSpec({ model: 'eyes', task: 'image-classification' }) }),
];

function aBench(limits: Partial<EdgeLimits> = {}): FrontBench {
  return new FrontBench(models, predictRoutes, { limits });
}

function json(model: string, body: unknown) {
  return { url: `/v1/models/${model}/predict`, headers: JSON_TYPE, body: JSON.stringify(body) };
}

describe('Prediction', () => {
  const digits = json('digits', { input: [1, 2, 3, 4] });

  it('refuses a body over the limit, a busy model and an unknown one without reading', () => {
    const bench = aBench({ maxBodyBytes: 10 });
    const large = bench.ask(digits);
    expect([large.status, large.bodyAsked]).toEqual([413, false]);
    const busy = aBench();
    busy.inference.refuseNext = new GimbalError('OVERLOADED', 'Cannot admit', { retryAfterMs: 500 });
    const shed = busy.ask(digits);
    expect([shed.status, shed.bodyAsked]).toEqual([503, false]);
    expect(busy.record).toMatchObject({ outcome: 'shed', code: 'OVERLOADED', model: 'digits', version: '1' });
    const unknown = busy.ask(json('digit', {}));
    expect([unknown.status, unknown.bodyAsked]).toEqual([404, false]);
    busy.assertClean(2);
  });

  it.each(['with its body half sent', 'while its work waits'])(
    'closes once when the client goes %s',
    (when) => {
      const bench = aBench();
      const exchange = bench.start({ ...digits, manual: true });
      exchange.arrive(Buffer.from(digits.body));
      if (when === 'while its work waits') exchange.end();
      exchange.abort();
      bench.inference.settleAll();
      expect(bench.record).toMatchObject({ outcome: 'cancelled', status: 499, code: 'CANCELLED' });
      bench.assertClean(1);
    },
  );

  it('closes once when the client goes while an image streams in', () => {
    const bench = aBench();
    const headers = { 'content-type': 'image/jpeg' };
    const exchange = bench.start({ url: '/v1/models/eyes/predict', headers, body: JPEG, manual: true });
    exchange.arrive(JPEG.subarray(0, 3));
    expect(bench.inference.arena.out).toBe(1);
    exchange.fail(new GimbalError('CANCELLED', 'the client went away'));
    exchange.abort();
    expect(exchange.answer).toBeUndefined();
    bench.assertClean(1);
  });

  it('keeps outputs that are sent without a copy until they have left', () => {
    const long = 'x'.repeat(40_000);
    const bench = new FrontBench(
      [aFakeModel({ spec: aVersionSpec({ task: 'tabular' }), answer: () => `"outputs":"${long}"` })],
      predictRoutes,
    );
    const exchange = bench.start({ ...json('echo', { input: [1, 2, 3, 4] }), holdFlush: true });
    bench.inference.settleAll();
    expect(bench.inference.calls[0]?.closed).toBe(false);
    exchange.flush();
    expect((exchange.json as { outputs: string }).outputs).toBe(long);
    bench.assertClean(1);
  });

  it('answers a failed run with its code and records it', () => {
    const bench = aBench();
    bench.inference.failWith = new GimbalError('RUNNER_CRASHED', 'Cannot run: the model process crashed');
    const exchange = bench.ask(digits);
    expect(exchange.status).toBe(503);
    expect(exchange.json).toMatchObject({ code: 'RUNNER_CRASHED', retryable: true });
    expect(bench.record).toMatchObject({ outcome: 'error', rows: 1 });
    bench.assertClean(1);
  });

  it('uses the version of the path or of the header, and says that labels are to come', () => {
    const bench = aBench();
    const url = '/v1/models/digits/versions/9/predict';
    expect(bench.ask({ ...digits, url }).status).toBe(404);
    expect(bench.ask({ ...digits, headers: { ...JSON_TYPE, 'inference-version': '9' } }).status).toBe(404);
    expect(bench.ask({ ...digits, url: '/v1/models/digits/versions/1/predict' }).status).toBe(200);
    const label = bench.ask({ ...digits, url: '/v1/models/digits/labels/stable/predict' });
    expect(label.status).toBe(501);
    bench.assertClean(4);
  });
});
