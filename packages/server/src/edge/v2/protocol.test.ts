import { deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { FrontBench } from '../front/testing/front-bench.ts';
import type { FakeExchange, FakeRequest } from '../testing/fake-exchange.ts';
import { anAddSubModel, anEchoModel, aTensorSpec } from '../testing/fake-model.ts';
import { v2ProtocolRoutes } from './v2-routes.ts';

function aBench(): FrontBench {
  const fixed = anEchoModel('fixed', [aTensorSpec('S', 'BYTES', [2])], { batchAxis: 'none' });
  const second = anAddSubModel();
  return new FrontBench(
    [anAddSubModel(), fixed, { ...second, spec: { ...second.spec, version: '2' } }],
    v2ProtocolRoutes,
  );
}

function get(url: string, bench = aBench()): FakeExchange {
  return bench.ask({ url });
}

function post(url: string, body = '', bench = aBench()): FakeExchange {
  return bench.ask({ url, body });
}

/** A version's state, by its place in the bench. */
function versionOf(bench: FrontBench, index: number) {
  const version = bench.inference.versions[index];
  if (!version) throw new Error(`there is no version ${index}`);
  return version;
}

/** What a promise settled: load and unload answer later. */
async function later(bench: FrontBench, request: FakeRequest): Promise<FakeExchange> {
  const exchange = bench.ask(request);
  await new Promise(setImmediate);
  return exchange;
}

/** Decompression runs on another thread. */
async function answered(exchange: FakeExchange): Promise<void> {
  await vi.waitUntil(() => exchange.answer !== undefined);
}

describe('health', () => {
  it('is live whatever the models do, with a body for KServe’s clients', () => {
    const bench = aBench();
    bench.inference.ready = false;
    const exchange = get('/v2/health/live', bench);
    expect([exchange.status, exchange.json]).toEqual([200, { live: true }]);
  });

  it('is ready with 200, not yet ready and draining with 503 and Retry-After', () => {
    const bench = aBench();
    expect(get('/v2/health/ready', bench).json).toEqual({ live: true, ready: true });
    bench.inference.ready = false;
    const loading = get('/v2/health/ready', bench);
    expect(loading.status).toBe(503);
    expect(loading.answer?.headers.has('retry-after')).toBe(true);
    expect(loading.json).toMatchObject({ error: expect.stringMatching(/not ready/) });
    bench.inference.draining = true;
    expect(get('/v2/health/ready', bench).text).toMatch(/shutting down/);
  });

  it('that is asked for too early is recorded as no failure: probes are no work that was shed', () => {
    const bench = aBench();
    bench.inference.ready = false;
    versionOf(bench, 1).state = 'loading';
    for (const url of ['/v2/health/ready', '/v2/models/fixed/ready', '/v2/models/fixed/versions/1/ready']) {
      const { json } = get(url, bench);
      expect(json).toMatchObject({ code: expect.any(String), request_id: bench.record.requestId });
      const { status, outcome, code } = bench.record;
      expect({ url, status, outcome, code }).toEqual({ url, status: 503, outcome: 'ok', code: undefined });
    }
    bench.inference.draining = true;
    get('/v2/health/ready', bench);
    expect(bench.record.outcome).toBe('ok');
  });

  it('of a model is that of the version asked for', () => {
    const bench = aBench();
    versionOf(bench, 2).state = 'loading';
    expect(get('/v2/models/add-sub/ready', bench).json).toEqual({ name: 'add-sub', ready: true });
    expect(get('/v2/models/add-sub/versions/2/ready', bench).status).toBe(503);
    expect(get('/v2/models/none/ready', bench).status).toBe(404);
    expect(get('/v2/models/add-sub/versions/3/ready', bench).status).toBe(404);
  });
});

describe('metadata', () => {
  it('of the server names it and the extensions that are there', () => {
    const answer = get('/v2').json as { name: string; version: string; extensions: string[] };
    expect(answer).toMatchObject({ name: 'gimbal', version: '0.1.0' });
    expect(answer.extensions).toContain('binary_tensor_data');
    expect(answer.extensions.join()).not.toMatch(/shared_memory|sequence/);
  });

  it('of a model has tensors with free lengths as -1, and ready versions only', () => {
    const bench = aBench();
    versionOf(bench, 0).state = 'unavailable';
    const exchange = get('/v2/models/add-sub', bench);
    const tensor = (name: string) => ({ name, datatype: 'INT32', shape: [-1, 16] });
    expect(exchange.json).toEqual({
      name: 'add-sub',
      versions: ['2'],
      platform: 'onnxruntime_onnx',
      inputs: [tensor('INPUT0'), tensor('INPUT1')],
      outputs: [tensor('OUTPUT0'), tensor('OUTPUT1')],
    });
    expect(exchange.answer?.headers.has('content-encoding')).toBe(false);
  });

  it('lists the models', () => {
    expect(get('/v2/models').json).toEqual({ models: ['add-sub', 'fixed'] });
  });

  it('says 404 of what is not there and 405 of the wrong method', () => {
    for (const url of ['/v2/models/none', '/v2/nothing', '/v2/models/none/config', '/v2/models/none/stats']) {
      const exchange = get(url);
      expect(exchange.status).toBe(404);
      expect(exchange.json).toMatchObject({ error: expect.any(String) });
    }
    expect(post('/v2/models/add-sub').status).toBe(405);
    expect(get('/v2/repository/index').status).toBe(405);
  });
});

describe('configuration', () => {
  it('of a batching model leaves the batch axis out and says how it batches', () => {
    expect(get('/v2/models/add-sub/versions/1/config').json).toMatchObject({
      name: 'add-sub',
      max_batch_size: 8,
      input: [{ name: 'INPUT0', data_type: 'TYPE_INT32', dims: [16] }, {}],
      dynamic_batching: { preferred_batch_size: [], max_queue_delay_microseconds: 5000 },
      model_transaction_policy: { decoupled: false },
      response_cache: { enable: false },
    });
  });

  it('of another model has whole shapes and no batching', () => {
    const config = get('/v2/models/fixed/config').json as Record<string, unknown>;
    expect(config).toMatchObject({ max_batch_size: 0, input: [{ data_type: 'TYPE_STRING', dims: [2] }] });
    expect(config).not.toHaveProperty('dynamic_batching');
  });
});

describe('statistics', () => {
  it('have every field that perf_analyzer reads, of one model and of all', () => {
    const bench = aBench();
    const lone = versionOf(bench, 0);
    lone.statistics = {
      ...lone.statistics,
      lastInferenceMs: 5,
      inferenceCount: 3,
      executionCount: 2,
      success: { count: 3, ns: 12_345_678_901n },
      batches: [
        {
          rows: 2,
          computeInput: { count: 1, ns: 1n },
          computeInfer: { count: 1, ns: 2n },
          computeOutput: { count: 1, ns: 3n },
        },
      ],
    };
    const one = get('/v2/models/add-sub/versions/1/stats', bench).json as { model_stats: object[] };
    const none = { count: 0, ns: 0 };
    expect(one.model_stats).toEqual([
      {
        name: 'add-sub',
        version: '1',
        last_inference: 5,
        inference_count: 3,
        execution_count: 2,
        inference_stats: {
          success: { count: 3, ns: 12_345_678_901 },
          fail: none,
          queue: none,
          compute_input: none,
          compute_infer: none,
          compute_output: none,
          cache_hit: none,
          cache_miss: none,
        },
        response_stats: {},
        batch_stats: [
          {
            batch_size: 2,
            compute_input: { count: 1, ns: 1 },
            compute_infer: { count: 1, ns: 2 },
            compute_output: { count: 1, ns: 3 },
          },
        ],
        memory_usage: [],
      },
    ]);
    const all = get('/v2/models/stats', bench).json as { model_stats: unknown[] };
    expect(all.model_stats).toHaveLength(3);
  });
});

describe('repository', () => {
  it('lists all versions with their states, for an empty body too', () => {
    const bench = aBench();
    Object.assign(versionOf(bench, 0), { state: 'unavailable', reason: 'broken' });
    const all = [
      { name: 'add-sub', version: '1', state: 'UNAVAILABLE', reason: 'broken' },
      { name: 'add-sub', version: '2', state: 'READY' },
      { name: 'fixed', version: '1', state: 'READY' },
    ];
    for (const body of ['', '{}', '{"ready":false,"more":[1]}'])
      expect(post('/v2/repository/index', body, bench).json).toEqual(all);
    expect(post('/v2/repository/index', '{"ready":true}', bench).json).toEqual(all.slice(1));
  });

  it('has one row for a version whose change on disk can’t be loaded, with its state and why', () => {
    const bench = aBench();
    const entries = bench.inference.catalogue();
    bench.inference.catalogue = () =>
      entries.map((entry) => ({
        ...entry,
        failures: [
          { version: '1', reason: 'opset 999' },
          { version: '7', reason: 'truncated' },
        ],
      }));
    const rows = post('/v2/repository/index', '', bench).json as { name: string; version: string }[];
    expect(rows.filter(({ name }) => name === 'fixed')).toEqual([
      {
        name: 'fixed',
        version: '1',
        state: 'READY',
        reason: expect.stringMatching(/unchanged.*: opset 999$/),
      },
      { name: 'fixed', version: '7', state: 'UNAVAILABLE', reason: 'truncated' },
    ]);
    const names = rows.map(({ name, version }) => `${name}/${version}`);
    expect(new Set(names).size).toBe(names.length);
    const ready = post('/v2/repository/index', '{"ready":true}', bench).json as { version: string }[];
    expect(ready.map(({ version }) => version)).not.toContain('7');
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ])('reads bodies in %s', async (coding, compress) => {
    const bench = aBench();
    Object.assign(versionOf(bench, 0), { state: 'unavailable' });
    const headers = { 'content-encoding': coding };
    const index = bench.ask({
      url: '/v2/repository/index',
      headers,
      body: compress('{"ready":true}'),
    });
    await answered(index);
    expect(index.json).toHaveLength(2);
    const body = compress('{"parameters":{"config":"{}"}}');
    const load = bench.ask({ url: '/v2/repository/models/fixed/load', headers, body });
    await answered(load);
    expect(load.status).toBe(501);
    expect(bench.inference.loads).toEqual([]);
  });

  it('refuses a body that grows past the limit, a broken one, and a coding that is not known', async () => {
    const bench = aBench();
    const ask = async (coding: string, body: Uint8Array): Promise<FakeExchange> => {
      const exchange = bench.ask({
        url: '/v2/repository/index',
        headers: { 'content-encoding': coding },
        body,
      });
      await answered(exchange);
      return exchange;
    };
    expect((await ask('gzip', gzipSync(Buffer.alloc(8 * 1024 * 1024, ' ')))).status).toBe(413);
    expect((await ask('gzip', Buffer.from('{}'))).status).toBe(400);
    const unknown = await ask('br', Buffer.from('{}'));
    expect(unknown.status).toBe(415);
    expect(unknown.answer?.headers.get('accept-encoding')).toBe('gzip, deflate');
    expect(unknown.json).toMatchObject({ code: 'UNSUPPORTED_MEDIA_TYPE' });
  });

  it.each(['{', '[]', '{"ready":1}', '{}x', '{"ready":true,"ready":true}'])('refuses the body %s', (body) => {
    expect(post('/v2/repository/index', body).status).toBe(400);
    expect(post('/v2/repository/models/fixed/load', body).status).toBe(400);
  });

  it('loads and unloads with exactly 200, and 404 for what is not there', async () => {
    const bench = aBench();
    const url = '/v2/repository/models/fixed';
    expect((await later(bench, { url: `${url}/load`, body: '' })).status).toBe(200);
    const unload = '{"parameters":{"unload_dependents":false}}';
    expect((await later(bench, { url: `${url}/unload`, body: unload })).status).toBe(200);
    expect([bench.inference.loads, bench.inference.unloads]).toEqual([['fixed'], ['fixed']]);
    for (const verb of ['load', 'unload'])
      expect((await later(bench, { url: `/v2/repository/models/none/${verb}`, body: '' })).status).toBe(404);
  });

  it('refuses other configurations, files and repositories with 501', () => {
    const bench = aBench();
    for (const name of ['config', 'file:1/model.onnx']) {
      const body = JSON.stringify({ parameters: { [name]: '{}' } });
      expect(post('/v2/repository/models/fixed/load', body, bench).status).toBe(501);
    }
    expect(post('/v2/repository/mine/models/fixed/load', '', bench).status).toBe(501);
    expect(post('/v2/repository/mine/models/fixed/unload', '', bench).status).toBe(501);
    expect(bench.inference.loads).toEqual([]);
  });
});

describe('settings', () => {
  it('can be read and not be changed', () => {
    expect(get('/v2/trace/setting').json).toMatchObject({ trace_level: ['OFF'], trace_count: '-1' });
    expect(get('/v2/models/fixed/trace/setting').json).toMatchObject({ trace_level: ['OFF'] });
    expect(get('/v2/models/none/trace/setting').status).toBe(404);
    expect(get('/v2/logging').json).toMatchObject({ log_info: true, log_verbose_level: 0 });
    for (const url of ['/v2/trace/setting', '/v2/models/fixed/trace/setting', '/v2/logging'])
      expect(post(url, '{}').status).toBe(501);
  });
});

describe.each(['systemsharedmemory', 'cudasharedmemory'])('%s', (kind) => {
  it('has no regions, takes none, and forgets all of them', () => {
    const answered = get(`/v2/${kind}/status`);
    expect([answered.status, answered.json]).toEqual([200, []]);
    expect(get(`/v2/${kind}/region/r/status`).status).toBe(501);
    expect(post(`/v2/${kind}/region/r/register`, '{}').status).toBe(501);
    expect(post(`/v2/${kind}/region/r/unregister`).status).toBe(501);
    expect(post(`/v2/${kind}/unregister`).status).toBe(200);
  });
});
