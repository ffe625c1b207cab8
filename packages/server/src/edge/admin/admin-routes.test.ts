import { type CatalogueEntry, GimbalError, type InferencePort, type VersionView } from '@gimbal/core';
import { describe, expect, it } from 'vitest';
import type { Answer, EdgeRequest } from '../route.ts';
import type { AdminPort } from './admin-port.ts';
import { adminRoutes } from './admin-routes.ts';
import { wantedFormat } from './metrics-routes.ts';

const statistic = { count: 2, ns: 0n };
const view = {
  spec: {
    model: 'digits',
    version: '1',
    task: 'tabular',
    digest: 'abc',
    folder: '/secret/path',
    deadlineMs: 1_000,
    derivations: [{ field: 'task', value: 'tabular', because: 'one input of 64 columns' }],
  },
  state: 'ready',
  variants: [],
  maxRows: 8,
  statistics: { inferenceCount: 9, executionCount: 3, success: statistic, fail: statistic },
} as unknown as VersionView;
const catalogue: readonly CatalogueEntry[] = [{ model: 'digits', versions: [view], failures: [] }];

interface Given {
  inference?: Partial<InferencePort>;
  port?: Partial<AdminPort>;
}

/** Asks the admin routes; what a route throws is its answer, as in the front. */
async function ask(line: string, given: Given = {}, headers: Record<string, string> = {}) {
  const asked: { status?: number; body?: unknown; contentType?: string; error?: unknown } = {};
  let settle: () => void = () => {};
  const answered = new Promise<void>((resolve) => {
    settle = resolve;
  });
  const answer = (fields: object): void => {
    Object.assign(asked, fields);
    settle();
  };
  const reply = {
    send: ({ status, contentType, body }: Answer) => answer({ status, contentType, body: decoded(body) }),
    fail: (error: unknown) => answer({ error }),
  };
  const inference = { ready: true, catalogue: () => catalogue, ...given.inference } as InferencePort;
  const port = {
    metrics: async (format: string) => [Buffer.from(`page in ${format}`)],
    runners: () => [],
    queues: () => [{ model: 'digits', version: '1', depth: 4, oldestAgeMs: 12 }],
    configuration: () => ({ http: { port: 8000 } }),
    devices: () => ({
      monitor: { kind: 'cpu-only', reason: 'no driver' },
      source: undefined,
      driver: undefined,
      sampleAgeMs: undefined,
      devices: [],
    }),
    ladders: () => [],
    quarantined: () => [],
    why: { find: () => undefined, recent: () => [], rememberedMs: 0 },
    ...given.port,
  } as AdminPort;
  const [method, path = ''] = line.split(' ');
  const routes = adminRoutes({ port, inference });
  for (const route of routes.filter((candidate) => candidate.method === method)) {
    const match = new RegExp(`^${route.pattern.replace('{model}', '([^/]+)')}$`).exec(path);
    if (!match) continue;
    const head = { header: (name: string) => headers[name] };
    route.run({ exchange: { head }, reply, parameters: { model: match[1] } } as unknown as EdgeRequest);
    await answered;
    return asked;
  }
  throw new Error(`no route for ${line}`);
}

/** JSON bodies as values, others as text. */
function decoded(body: Answer['body']): unknown {
  if (typeof body === 'string') return JSON.parse(body);
  return Buffer.concat(body instanceof Uint8Array ? [body] : body).toString();
}

describe('admin routes', () => {
  it('list runners with the members that scripts rely on', async () => {
    const runner = {
      id: 'a',
      pid: 77,
      state: 'busy' as const,
      device: 'cpu',
      restarts: 1,
      batches: 5,
      residentBytes: 10,
      transport: 'shared-memory' as const,
    };
    const runners = () => [{ model: 'digits', version: '1', variant: 'model', view: runner, inflight: 3 }];
    const { body } = await ask('GET /admin/v1/runners', { port: { runners } });
    expect(body).toEqual({
      runners: [
        {
          pid: 77,
          model: 'digits',
          version: '1',
          variant: 'model',
          device: 'cpu',
          state: 'busy',
          restarts: 1,
          inflight: 3,
          batches: 5,
          resident_bytes: 10,
          transport: 'shared-memory',
        },
      ],
    });
  });

  it('show models with derivations, queue and counts, and no paths of this machine', async () => {
    const { body } = await ask('GET /admin/v1/models');
    expect(body).toMatchObject({
      models: [
        {
          name: 'digits',
          versions: [
            {
              version: '1',
              state: 'ready',
              derivations: [{ field: 'task', because: 'one input of 64 columns' }],
              queue: { depth: 4, oldest_age_ms: 12 },
              counts: { inferences: 9, executions: 3, successes: 2, failures: 2 },
            },
          ],
        },
      ],
    });
    expect(JSON.stringify(body)).not.toContain('/secret/path');
  });

  it('show one model, and suggest the nearest name for one that is not there', async () => {
    expect((await ask('GET /admin/v1/models/digits')).body).toMatchObject({ name: 'digits' });
    await expect(ask('GET /admin/v1/models/digit')).rejects.toThrow('did you mean "digits"?');
  });

  it.each(['load', 'unload'] as const)('%s a model and answer when that is done', async (verb) => {
    const changed: string[] = [];
    const change = async (model: string) => void changed.push(model);
    const { status, body } = await ask(`POST /admin/v1/models/digits/${verb}`, {
      inference: { [verb]: change },
    });
    expect(changed).toEqual(['digits']);
    expect({ status, body }).toMatchObject({ status: 200, body: { name: 'digits' } });
  });

  it('reload through the host, and pass on why it failed', async () => {
    const error = new GimbalError('MODEL_UNAVAILABLE', 'Cannot load');
    const reload = () => Promise.reject(error);
    expect((await ask('POST /admin/v1/models/digits/reload', { port: { reload } })).error).toBe(error);
  });

  it('serve metrics in the format that the scraper asks for', async () => {
    expect(await ask('GET /metrics')).toMatchObject({
      contentType: 'text/plain; version=0.0.4; charset=utf-8',
      body: 'page in prometheus',
    });
    const accept = 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5';
    expect(await ask('GET /metrics', {}, { accept })).toMatchObject({
      contentType: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
      body: 'page in openmetrics',
    });
  });

  it('answer a failed metrics page as an error', async () => {
    const error = new GimbalError('OVERLOADED', 'Cannot render metrics');
    const metrics = () => Promise.reject(error);
    expect((await ask('GET /metrics', { port: { metrics } })).error).toBe(error);
  });

  it('say that there is no GPU rather than that it is idle', async () => {
    expect((await ask('GET /metrics/gpu-util')).body).toMatchObject({ devices: [] });
  });

  it('are live always and ready when the server is', async () => {
    expect(await ask('GET /livez', { inference: { ready: false } })).toMatchObject({ status: 200 });
    expect(await ask('GET /readyz')).toMatchObject({ status: 200, body: { status: 'pass' } });
    expect(await ask('GET /readyz', { inference: { ready: false } })).toMatchObject({ status: 503 });
  });

  it('show the configuration that the host gives', async () => {
    expect((await ask('GET /admin/v1/config')).body).toEqual({ http: { port: 8000 } });
  });
});

describe('wantedFormat', () => {
  it.each([
    [undefined, 'prometheus'],
    ['*/*', 'prometheus'],
    ['text/plain', 'prometheus'],
    ['application/openmetrics-text', 'openmetrics'],
    [
      'application/openmetrics-text;version=1.0.0;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
      'openmetrics',
    ],
    ['application/openmetrics-text;q=0.2, text/plain;q=0.9', 'prometheus'],
    ['application/openmetrics-text;q=0', 'prometheus'],
    ['application/openmetrics-text;q=banana', 'prometheus'],
    [',,;;q=', 'prometheus'],
  ])('of %s is %s', (accept, format) => {
    expect(wantedFormat(accept)).toBe(format);
  });
});
