import { describe, expect, it } from 'vitest';
import { FrontBench } from '../front/testing/front-bench.ts';
import { aFakeModel, anAddSubModel, aVersionSpec } from '../testing/fake-model.ts';
import { healthRoutes } from './health-routes.ts';
import { modelsRoutes } from './models-routes.ts';

function aBench(): FrontBench {
  return new FrontBench(
    [
      anAddSubModel(),
      aFakeModel({
        spec: aVersionSpec({ model: 'eyes', task: 'image-classification', labels: ['cat', 'dog'] }),
      }),
      aFakeModel({ spec: aVersionSpec({ model: 'eyes', version: '2', task: 'image-classification' }) }),
    ],
    (ports) => [...modelsRoutes(ports), ...healthRoutes(ports)],
  );
}

describe('GET /v1/models', () => {
  it('lists states, versions and variants', () => {
    const bench = aBench();
    const second = bench.inference.versions[2];
    if (second) second.state = 'loading';
    expect(bench.start({ url: '/v1/models' }).json).toMatchObject({
      models: [
        { name: 'add-sub', task: 'tensor', state: 'ready', default_version: '1' },
        {
          name: 'eyes',
          state: 'ready',
          default_version: '1',
          versions: [
            { version: '1', state: 'ready', variants: [{ name: 'default', runners: 1 }] },
            { version: '2', state: 'loading' },
          ],
        },
      ],
    });
  });
});

describe('GET /v1/models/{model}', () => {
  it('describes signature, limits, profile and examples that name this server', () => {
    const bench = aBench();
    const detail = bench.start({ url: '/v1/models/add-sub', headers: { host: 'models.test:8000' } });
    expect(detail.json).toMatchObject({
      inputs: [
        { name: 'INPUT0', datatype: 'INT32', shape: [-1, 16] },
        { name: 'INPUT1', datatype: 'INT32', shape: [-1, 16] },
      ],
      limits: { max_inputs: 8, max_body_bytes: 1024 * 1024, max_rows: 8, deadline_ms: 1000 },
      profile: { fixed_ms: 1, per_row_ms: 0.1, best_rows: 8 },
      examples: [{ title: 'JSON', content_type: 'application/json' }],
    });
    expect(detail.text).toContain('curl http://models.test:8000/v1/models/add-sub/predict');
    expect(detail.text).not.toContain('/models/echo');
  });

  it('never repeats a Host header that is more than a name', () => {
    const bench = aBench();
    const { text } = bench.start({ url: '/v1/models/add-sub', headers: { host: 'x; rm -rf $(y)' } });
    expect(text).not.toContain('rm -rf');
  });

  it('names the nearest model', () => {
    const exchange = aBench().start({ url: '/v1/models/ad-sub' });
    expect(exchange.status).toBe(404);
    expect(exchange.text).toContain('did you mean \\"add-sub\\"?');
  });
});

describe('health', () => {
  it('tells live, ready and started apart', () => {
    const bench = aBench();
    bench.inference.ready = false;
    const statuses = () =>
      ['/livez', '/healthz', '/readyz', '/health', '/startupz'].map((url) => bench.start({ url }).status);
    expect(statuses()).toEqual([200, 200, 503, 503, 503]);
    bench.inference.ready = true;
    expect(statuses()).toEqual([200, 200, 200, 200, 200]);
    bench.inference.ready = false;
    expect(statuses()).toEqual([200, 200, 503, 503, 200]);
  });

  it('says what is wrong, when to come back and in which format', () => {
    const bench = aBench();
    const [version] = bench.inference.versions;
    if (version) {
      version.state = 'unavailable';
      version.reason = 'it crashes';
    }
    const warned = bench.start({ url: '/readyz' });
    expect(warned.answer?.headers.get('content-type')).toBe('application/health+json');
    expect(warned.json).toMatchObject({
      status: 'pass',
      checks: { 'model:add-sub': [{ status: 'warn', output: 'unavailable: it crashes' }] },
    });
    bench.inference.ready = false;
    bench.inference.draining = true;
    const failed = bench.start({ url: '/readyz' });
    expect(failed.json).toMatchObject({
      status: 'fail',
      checks: { draining: [{ status: 'fail' }], 'model:add-sub': [{ status: 'fail' }] },
    });
    expect(failed.answer?.headers.get('retry-after')).toBe('1');
  });
});
