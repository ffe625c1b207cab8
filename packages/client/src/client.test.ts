import { afterEach, describe, expect, it } from 'vitest';
import { Client } from './client.ts';
import type { ClientOptions } from './client-options.ts';
import {
  AbortError,
  AnswerError,
  AuthenticationError,
  ConflictError,
  ConnectionError,
  DeadlineError,
  GimbalError,
  NotFoundError,
  OverloadedError,
  RateLimitError,
  ServerError,
  ValidationError,
} from './errors.ts';
import type { AnswerHead } from './schema.ts';
import { tensor } from './tensor/tensor.ts';
import { type Answer, aPrediction, aProblem, FakeServer, sendJson } from './testing/fake-server.ts';

let server: FakeServer | undefined;

afterEach(async () => {
  await server?.stop();
  server = undefined;
});

async function aClient(answer: Answer, options: Partial<ClientOptions> = {}) {
  server = await FakeServer.start(answer);
  return { server, client: new Client({ baseUrl: server.url, ...options }) };
}

const ok: Answer = (response) => sendJson(response, 200, aPrediction());

describe('a flapping server', () => {
  it('loses none of 100 calls at once while the budget lasts', async () => {
    const { server: asked, client } = await aClient((response, { number }) => {
      // A dozen refusals of every kind, in between good answers.
      if (number % 8 !== 0 || number > 96) sendJson(response, 200, aPrediction());
      else if (number % 16 === 0) response.socket?.destroy();
      else sendJson(response, 503, aProblem('OVERLOADED', { retryable: true }));
    });
    const calls = Array.from({ length: 100 }, () => client.model('cats').infer('x').withResponse());
    const answers = await Promise.all(calls);
    expect(answers).toHaveLength(100);
    const sent = answers.reduce((sum, { attempts }) => sum + attempts, 0);
    expect(sent).toBe(asked.seen.length);
    expect(sent).toBe(112);
  });

  it('gets no more than a fifth on top when it is down, and every call its error', async () => {
    const { server: asked, client } = await aClient((response) =>
      sendJson(response, 503, aProblem('OVERLOADED', { retryable: true, retry_after_ms: 1 })),
    );
    const calls = await Promise.allSettled(
      Array.from({ length: 100 }, () => client.model('cats').infer('x')),
    );
    expect(calls.every((call) => call.status === 'rejected' && call.reason instanceof OverloadedError)).toBe(
      true,
    );
    expect(asked.seen.length).toBeGreaterThanOrEqual(120);
    // A second of waiting gives one more of the floor.
    expect(asked.seen.length).toBeLessThanOrEqual(125);
  });
});

describe('a bad server', () => {
  it('that nobody listens at is a ConnectionError after all attempts', async () => {
    const gone = await FakeServer.start(ok);
    const { url } = gone;
    await gone.stop();
    const failure = new Client({ baseUrl: url }).model('cats').infer('x');
    await expect(failure).rejects.toThrow(ConnectionError);
    await expect(failure).rejects.toMatchObject({ code: 'UNREACHABLE', retryable: true, attempts: 3 });
    await expect(failure).rejects.toThrow('ECONNREFUSED');
  });

  it('that cuts its answer off is asked again', async () => {
    const { server: asked, client } = await aClient((response, { number, socket }) => {
      if (number > 1) return sendJson(response, 200, aPrediction());
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' });
      response.write('{"model":', () => socket.destroy());
    });
    await expect(client.model('cats').infer('x')).resolves.toMatchObject({ model: 'cats' });
    expect(asked.seen).toHaveLength(2);
  });

  it('that closes its half without an answer is asked again', async () => {
    const { server: asked, client } = await aClient((response, { number, socket }) => {
      if (number > 1) sendJson(response, 200, aPrediction());
      else socket.end();
    });
    await expect(client.model('cats').infer('x')).resolves.toMatchObject({ model: 'cats' });
    expect(asked.seen).toHaveLength(2);
  });

  it.each([
    ['a page', 'text/html', '<html>Welcome</html>'],
    ['a cut document', 'application/json', '{"model":"ca'],
    ['a list', 'application/json', '[1,2]'],
    ['nothing', 'application/json', ''],
  ])('that answers with %s is an AnswerError, once', async (_what, type, body) => {
    const { server: asked, client } = await aClient((response) => {
      response.writeHead(200, { 'content-type': type, 'x-request-id': 'r-9' });
      response.end(body);
    });
    const failure = client.model('cats').infer('x');
    await expect(failure).rejects.toThrow(AnswerError);
    await expect(failure).rejects.toMatchObject({ code: 'BAD_ANSWER', attempts: 1, requestId: 'r-9' });
    expect(asked.seen).toHaveLength(1);
  });

  it('that answers with a proxy’s page shows its beginning', async () => {
    const { client } = await aClient((response) => {
      response.writeHead(502, { 'content-type': 'text/html' });
      response.end(`<html>\n<h1>502 Bad Gateway</h1>${'x'.repeat(100_000)}</html>`);
    });
    const failure = client.model('cats').infer('x', { maxRetries: 0 });
    await expect(failure).rejects.toThrow(ServerError);
    await expect(failure).rejects.toThrow('The server answered 502');
  });

  it('that sends more than is read is left', async () => {
    const { client } = await aClient(
      (response) => sendJson(response, 200, aPrediction({ variant: 'x'.repeat(5000) })),
      { maxAnswerBytes: 1000 },
    );
    await expect(client.model('cats').infer('x')).rejects.toThrow('expected at most 1000 bytes');
  });

  it('that is too slow sees its connection closed', async () => {
    let closed: Promise<void> | undefined;
    const { client } = await aClient((_response, { socket }) => {
      closed = new Promise((resolve) => socket.once('close', resolve));
    });
    await expect(client.model('cats').infer('x', { deadlineMs: 30 })).rejects.toThrow(DeadlineError);
    await closed;
  });

  it('that hangs in the middle of its answer sees the caller leave when it aborts', async () => {
    const abort = new AbortController();
    const events: string[] = [];
    const { server: asked, client } = await aClient((response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' });
      response.write('{');
    });
    const call = client
      .model('cats')
      .infer('x', { signal: abort.signal })
      .catch((error: unknown) => {
        events.push('settled');
        return error;
      });
    await asked.sees(1);
    const later = new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve))).then(() => {
      events.push('two turns of the event loop');
    });
    abort.abort();
    expect(await call).toBeInstanceOf(AbortError);
    await later;
    expect(events).toEqual(['settled', 'two turns of the event loop']);
    expect(asked.seen).toHaveLength(1);
  });
});

describe('errors', () => {
  it.each([
    [400, ValidationError],
    [401, AuthenticationError],
    [403, AuthenticationError],
    [404, NotFoundError],
    [409, ConflictError],
    [422, ValidationError],
    [429, RateLimitError],
    [500, ServerError],
    [503, OverloadedError],
    [504, DeadlineError],
  ])('of status %d have their class', async (status, Class) => {
    const { client } = await aClient((response) => sendJson(response, status, {}));
    await expect(client.model('cats').infer('x', { maxRetries: 0 })).rejects.toThrow(Class);
  });

  it('say everything that the problem document says', async () => {
    const errors = [{ pointer: '/input', expected: 'a', received: 'b', hint: 'send a' }];
    const { client } = await aClient((response) =>
      sendJson(response, 422, aProblem('INVALID_INPUT', { retryable: false, errors, request_id: 'doc' }), {
        'x-request-id': 'r-7',
      }),
    );
    const error = await client
      .model('cats')
      .infer('x')
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(GimbalError);
    expect(error).toMatchObject({
      name: 'ValidationError',
      code: 'INVALID_INPUT',
      message: 'Cannot do it: INVALID_INPUT',
      status: 422,
      requestId: 'r-7',
      hint: 'send a',
      fields: errors,
    });
  });

  it('of V2 are known by their code', async () => {
    const { server: asked, client } = await aClient((response) =>
      sendJson(response, 503, { error: 'Cannot take it', code: 'DRAINING', request_id: 'v2' }),
    );
    const failure = client.model('cats').infer({ a: tensor('FP32', [1], [1]) }, { maxRetries: 1 });
    await expect(failure).rejects.toMatchObject({
      name: 'OverloadedError',
      message: 'Cannot take it',
      code: 'DRAINING',
      requestId: 'v2',
      retryable: true,
      attempts: 2,
    });
    expect(asked.seen).toHaveLength(2);
  });

  it('before anything is sent are ValidationErrors', async () => {
    const { server: asked, client } = await aClient(ok);
    const model = client.model('cats');
    await expect(model.infer(tensor('FP32', [1], [1]) as never)).rejects.toThrow('by the name of its input');
    await expect(model.infer({ a: tensor('FP32', [1], [1]), b: 1 } as never)).rejects.toThrow('got some');
    await expect(model.infer([Number.NaN])).rejects.toThrow('Cannot send NaN as JSON');
    await expect(client.model('..').infer('x')).rejects.toThrow('expected a name');
    await expect(model.infer('x', { headers: { 'bad header': 'x' } })).rejects.toThrow(
      'Cannot send the headers',
    );
    const circle: unknown[] = [];
    circle.push(circle);
    await expect(model.infer(circle as never)).rejects.toThrow('Cannot send the input');
    for (const call of [model.infer(circle as never)]) await expect(call).rejects.toThrow(ValidationError);
    expect(asked.seen).toHaveLength(0);
  });

  it.each([
    { baseUrl: 'ftp://x' },
    { baseUrl: 'nothing' },
    { timeoutMs: 0 },
    { timeoutMs: Number.NaN },
    { retryBudget: 1.5 },
    { maxRetries: -1 },
    { hedge: { budget: 2 } },
  ])('of options come at once: %o', (options) => {
    expect(() => new Client({ baseUrl: 'http://x', ...options })).toThrow(ValidationError);
  });
});

describe('a request', () => {
  it('carries what the options say', async () => {
    const { server: asked, client } = await aClient(ok, { apiKey: 'secret', headers: { 'x-team': 'a' } });
    await client.model('my cats').infer('x', {
      version: '2',
      criticality: 'sheddable',
      routingKey: 'user-1',
      requestId: 'r-42',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      parameters: { top_k: 2 },
      deadlineMs: 5000,
    });
    expect(asked.last).toMatchObject({
      method: 'POST',
      path: '/v1/models/my%20cats/versions/2/predict',
      headers: {
        authorization: 'Bearer secret',
        'x-team': 'a',
        'content-type': 'application/json',
        'inference-criticality': 'sheddable',
        'inference-routing-key': 'user-1',
        'inference-attempt': '1',
        'x-request-id': 'r-42',
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      },
    });
    expect(Number(asked.last.headers['inference-timeout-ms'])).toBeLessThanOrEqual(5000);
    expect(asked.last.headers['idempotency-key']).toMatch(/^[0-9a-f]{32}$/);
    expect(JSON.parse(asked.last.body.toString())).toEqual({ input: 'x', parameters: { top_k: 2 } });
  });

  it('goes below the path of the base URL', async () => {
    server = await FakeServer.start(ok);
    await new Client({ baseUrl: `${server.url}/inference/` }).model('cats').infer('x');
    expect(server.last.path).toBe('/inference/v1/models/cats/predict');
  });
});

describe('an answer', () => {
  it('says how it was made', async () => {
    const { client } = await aClient(ok);
    const answer = await client.model('cats').infer('x');
    expect(answer).toEqual({
      model: 'cats',
      version: '1',
      variant: 'fp32',
      degraded: false,
      rung: 0,
      degradedReason: undefined,
      requestId: 'r-1',
      timings: { queueMs: 0.5, batchMs: 1, preprocessMs: 2, inferMs: 3, postprocessMs: 0.1, totalMs: 6.6 },
      predictions: [{ classId: 3, label: 'tabby', confidence: 0.9 }],
    });
  });

  it('from a lower rung is visible, and told', async () => {
    const { client } = await aClient((response) =>
      sendJson(response, 200, aPrediction({ degraded: true, variant: 'int8' }), {
        'inference-degraded': 'rung=2;reason="overload"',
      }),
    );
    const told: AnswerHead[] = [];
    const answer = await client.model('cats').infer('x', { onDegraded: (head) => told.push(head) });
    expect(answer).toMatchObject({ degraded: true, rung: 2, degradedReason: 'overload', variant: 'int8' });
    expect(told).toEqual([answer]);
  });

  it('is there with its response', async () => {
    const { client } = await aClient((response) =>
      sendJson(response, 200, aPrediction(), { 'x-request-id': 'h-1', 'x-own': 'yes' }),
    );
    const { data, response, requestId, attempts } = await client.model('cats').infer('x').withResponse();
    expect(data.model).toBe('cats');
    expect(response.headers.get('x-own')).toBe('yes');
    expect({ requestId, attempts }).toEqual({ requestId: 'h-1', attempts: 1 });
  });

  it('that failed fails once, though nobody awaits the bare answer', async () => {
    const { client } = await aClient((response) => sendJson(response, 404, {}));
    const unhandled: unknown[] = [];
    const listen = (reason: unknown): void => {
      unhandled.push(reason);
    };
    process.on('unhandledRejection', listen);
    await expect(client.model('cats').infer('x').withResponse()).rejects.toThrow(NotFoundError);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', listen);
    expect(unhandled).toEqual([]);
  });

  it('for several inputs has a result or an error for each', async () => {
    const { server: asked, client } = await aClient((response) =>
      sendJson(response, 200, {
        ...aPrediction({ predictions: undefined }),
        results: [
          { predictions: [{ class_id: 1, label: 'a', confidence: 1 }] },
          { error: aProblem('INVALID_INPUT', { status: 422, retryable: false }) },
        ],
      }),
    );
    const { results } = await client.model('cats').inferMany([Uint8Array.of(1, 2, 3), 'aGk=']);
    expect(JSON.parse(asked.last.body.toString())).toEqual({ inputs: ['AQID', 'aGk='] });
    expect(results[0]).toMatchObject({ ok: true, predictions: [{ classId: 1 }] });
    expect(results[1]).toMatchObject({
      ok: false,
      error: { name: 'ValidationError', code: 'INVALID_INPUT', requestId: 'r-1' },
    });
  });
});

it('hooks see every attempt, may add headers, and break nothing when they throw', async () => {
  const seen: string[] = [];
  const { server: asked, client } = await aClient(
    (response, { number }) => {
      if (number === 1) sendJson(response, 503, aProblem('DRAINING', { retryable: true, retry_after_ms: 1 }));
      else sendJson(response, 200, aPrediction());
    },
    {
      hooks: {
        onAttempt: ({ attempt, headers }) => {
          headers.set('traceparent', `trace-${attempt}`);
          seen.push(`attempt ${attempt}`);
          throw new Error('a broken hook');
        },
        onResponse: ({ status }) => seen.push(`response ${status}`),
        onAttemptError: ({ error }) => seen.push(`error ${error.code}`),
        onRetry: ({ attempt, error }) => seen.push(`retry after ${attempt}: ${error.code}`),
      },
    },
  );
  await client.model('cats').infer('x');
  expect(seen).toEqual([
    'attempt 1',
    'response 503',
    'error DRAINING',
    'retry after 1: DRAINING',
    'attempt 2',
    'response 200',
  ]);
  expect(asked.seen.map(({ headers }) => headers.traceparent)).toEqual(['trace-1', 'trace-2']);
});

describe('models and health', () => {
  it('are listed and described in the names of this language', async () => {
    const { client } = await aClient((response, { path }) => {
      const model = { name: 'cats', default_version: '1', limits: { max_body_bytes: 5 } };
      sendJson(response, 200, path === '/v1/models' ? { models: [model] } : model);
    });
    expect(await client.models.list()).toMatchObject([{ name: 'cats', defaultVersion: '1' }]);
    expect(await client.models.get('cats')).toMatchObject({ limits: { maxBodyBytes: 5 } });
  });

  it('"not ready" is an answer, an unreachable server is an error', async () => {
    const { server: asked, client } = await aClient((response, { path }) => {
      if (path === '/readyz') sendJson(response, 503, { status: 'fail', checks: {} }, { 'retry-after': '1' });
      else if (path === '/livez') sendJson(response, 200, { status: 'pass', checks: {} });
      else response.socket?.destroy();
    });
    expect(await client.health.ready()).toEqual({ ok: false, status: 'fail', checks: {} });
    expect(await client.health.live()).toMatchObject({ ok: true });
    await expect(client.health.started()).rejects.toThrow(ConnectionError);
    expect(asked.seen).toHaveLength(3);
  });
});
