import { describe, expect, it } from 'vitest';
import { FrontBench } from '../front/testing/front-bench.ts';
import { aFakeModel, aVersionSpec, type FakeModel } from '../testing/fake-model.ts';
import { compatRoutes } from './compat-routes.ts';

const IMAGE = Buffer.from([0xff, 0xd8, 0xff, 1]);
const BASE64 = IMAGE.toString('base64');

const eyes = aFakeModel({
  spec: aVersionSpec({ model: 'eyes', task: 'image-classification' }),
  answer: (bytes, { topK, threshold }) =>
    `"predictions":[{"class_id":${bytes.length},"label":"cat","confidence":0.9},{"class_id":${topK},"confidence":${threshold}}]`,
});
const faces = aFakeModel({
  spec: aVersionSpec({ model: 'faces', task: 'object-detection' }),
  answer: () => '"predictions":[{"class_id":0,"label":"face","confidence":0.8,"bbox":[1,2,3,4]}]',
});
const blind = aFakeModel({
  spec: aVersionSpec({ model: 'blind', task: 'object-detection' }),
  answer: () => '"predictions":[]',
});
const words = aFakeModel({
  spec: aVersionSpec({ model: 'words', task: 'text-embedding' }),
  answer: (bytes) => `"embedding":[${bytes.length}]`,
});

function aBench(models: readonly FakeModel[], defaultModel?: string): FrontBench {
  return new FrontBench(models, compatRoutes, defaultModel === undefined ? {} : { defaultModel });
}

function post(url: string, body: unknown) {
  return { url, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

describe('/predict', () => {
  it('answers the best prediction beside the native members', () => {
    const bench = aBench([words, eyes]);
    const { json } = bench.ask(post('/predict', { image_base64: BASE64, threshold: 0.5 }));
    expect(json).toMatchObject({
      model: 'eyes',
      class_id: 4,
      label: 'cat',
      confidence: 0.9,
      bbox: null,
      predictions: [{ class_id: 4 }, { class_id: 5, confidence: 0.5 }],
    });
    expect(bench.record).toMatchObject({ protocol: 'compat', route: '/predict', model: 'eyes' });
    bench.assertClean(1);
  });

  it('takes a form, and gives boxes where the model finds some', () => {
    const bench = aBench([faces]);
    const head = '--B\r\nContent-Disposition: form-data; name="file"; filename="a.jpg"\r\n\r\n';
    const { json } = bench.ask({
      url: '/predict',
      headers: { 'content-type': 'multipart/form-data; boundary=B' },
      body: Buffer.concat([Buffer.from(head), IMAGE, Buffer.from('\r\n--B--\r\n')]),
    });
    expect(json).toMatchObject({ class_id: 0, bbox: [1, 2, 3, 4] });
    bench.assertClean(1);
  });

  it('says null of a best prediction that is not there', () => {
    const { json } = aBench([blind]).ask(post('/predict', { image_base64: BASE64 }));
    expect(json).toMatchObject({ class_id: null, confidence: null, bbox: null, predictions: [] });
  });

  it('uses the declared default model, else the first that fits, else any that is ready', () => {
    expect(aBench([eyes, faces], 'faces').ask(post('/predict', { image_base64: BASE64 })).json).toMatchObject(
      {
        model: 'faces',
      },
    );
    expect(aBench([words]).ask(post('/predict', { text: 'abc' })).json).toMatchObject({ embedding: [3] });
    const bench = aBench([eyes]);
    const [version] = bench.inference.versions;
    if (version) version.state = 'loading';
    expect(bench.ask(post('/predict', { image_base64: BASE64 })).status).toBe(404);
    bench.assertClean(1);
  });

  it('names members that it does not know', () => {
    const exchange = aBench([eyes]).ask(post('/predict', { image_base_64: BASE64 }));
    expect(exchange.status).toBe(422);
    expect(exchange.text).toContain('did you mean \\"image_base64\\"?');
  });
});

describe('/batch_predict', () => {
  it('answers each item by itself', () => {
    const bench = aBench([eyes]);
    const { json } = bench.ask(
      post('/batch_predict', { items: [BASE64, { image_base64: BASE64 }, '???'], timeout: 2.5 }),
    );
    expect(json).toMatchObject({
      results: [{ class_id: 4 }, { class_id: 4 }, { error: { code: 'INVALID_INPUT' } }],
    });
    expect(bench.inference.calls.at(-1)?.context.timeoutMs).toBe(2500);
    bench.assertClean(1);
  });

  it.each([0, -1, 10.5, '1'])('refuses a timeout of %s seconds', (timeout) => {
    const bench = aBench([eyes]);
    expect(bench.ask(post('/batch_predict', { items: [BASE64], timeout })).status).toBe(422);
    bench.assertClean(1);
  });
});

describe('/infer', () => {
  it('takes a text', () => {
    const bench = aBench([eyes, words]);
    expect(bench.ask(post('/infer', { text: 'abcd' })).json).toMatchObject({
      model: 'words',
      embedding: [4],
    });
    bench.assertClean(1);
  });
});
