import { afterEach, expect, it } from 'vitest';
import { Client } from '../client.ts';
import {
  AbortError,
  AnswerError,
  ConnectionError,
  DeadlineError,
  GimbalError,
  ServerError,
} from '../errors.ts';
import { type Answer, aProblem, FakeServer, sendJson } from '../testing/fake-server.ts';

let server: FakeServer;

afterEach(() => server.stop());

async function aModel(answer: Answer, options: { readonly timeoutMs?: number } = {}) {
  server = await FakeServer.start(answer);
  return new Client({ baseUrl: server.url, ...options }).model('words');
}

/** Server-sent events, and then what becomes of the connection. */
function events(list: readonly string[], end: 'end' | 'open' | 'break' = 'end'): Answer {
  return (response, { socket }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'x-request-id': 's-1' });
    response.write(list.join(''), () => {
      if (end === 'break') socket.destroy();
    });
    if (end === 'end') response.end();
  };
}

async function collected(stream: AsyncIterable<unknown>): Promise<{ chunks: unknown[]; error: unknown }> {
  const chunks: unknown[] = [];
  try {
    for await (const chunk of stream) chunks.push(chunk);
  } catch (error) {
    return { chunks, error };
  }
  return { chunks, error: undefined };
}

const message = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;

it('gives the messages in order, and asks for what it can read', async () => {
  const model = await aModel(
    events([message({ text: 'ä' }), ': ping\n\n', message({ text: 'b' }), 'data: [DONE]\n\n']),
  );
  expect(await collected(model.stream('hello'))).toEqual({
    chunks: [{ text: 'ä' }, { text: 'b' }],
    error: undefined,
  });
  expect(server.last.headers.accept).toBe('text/event-stream, application/x-ndjson;q=0.9');
  expect(server.last.path).toBe('/v1/models/words/predict');
  expect(server.last.headers['inference-timeout-ms'], 'a stream may take any time').toBeUndefined();
});

it('takes lines of JSON and a single document too', async () => {
  const lines = await aModel((response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    response.end('{"n":1}\n\n{"n":2}');
  });
  expect((await collected(lines.stream('x'))).chunks).toEqual([{ n: 1 }, { n: 2 }]);
  await server.stop();
  const whole = await aModel((response) => sendJson(response, 200, { n: 3 }));
  expect((await collected(whole.stream('x'))).chunks).toEqual([{ n: 3 }]);
});

it('gives each message when it comes, and stops the server when the loop is left', async () => {
  let closed: Promise<void> | undefined;
  const model = await aModel((response, request) => {
    closed = new Promise((resolve) => request.socket.once('close', resolve));
    events([message({ n: 1 })], 'open')(response, request);
  });
  for await (const chunk of model.stream('x')) {
    expect(chunk).toEqual({ n: 1 });
    break;
  }
  await closed;
});

it('is tried again until its first message', async () => {
  const model = await aModel((response, request) => {
    if (request.number === 1)
      sendJson(response, 503, aProblem('OVERLOADED', { retryable: true, retry_after_ms: 1 }));
    else events([message({ n: 1 })])(response, request);
  });
  expect(await collected(model.stream('x'))).toEqual({ chunks: [{ n: 1 }], error: undefined });
  expect(server.seen).toHaveLength(2);
});

it('that breaks tells so, after what came, and is not begun again', async () => {
  const model = await aModel(events([message({ n: 1 })], 'break'));
  const { chunks, error } = await collected(model.stream('x'));
  expect(chunks).toEqual([{ n: 1 }]);
  expect(error).toBeInstanceOf(ConnectionError);
  expect(error).toMatchObject({ requestId: 's-1', retryable: true });
  expect(server.seen).toHaveLength(1);
});

it.each([
  [
    'an error event',
    `event: error\ndata: ${JSON.stringify(aProblem('RUNNER_CRASHED', { status: 500 }))}\n\n`,
  ],
  ['a member', message({ error: aProblem('RUNNER_CRASHED', { status: 500 }) })],
  ['V2’s document', message({ error: 'Cannot do it', code: 'RUNNER_CRASHED' })],
])('that fails in the middle, by %s, throws the typed error', async (_how, text) => {
  const model = await aModel(events([message({ n: 1 }), text]));
  const { chunks, error } = await collected(model.stream('x'));
  expect(chunks).toEqual([{ n: 1 }]);
  expect(error).toBeInstanceOf(ServerError);
  expect(error).toMatchObject({ code: 'RUNNER_CRASHED', retryable: true, requestId: 's-1' });
});

it('that is silent for too long is a DeadlineError', async () => {
  const model = await aModel(events([message({ n: 1 })], 'open'), { timeoutMs: 60 });
  const { chunks, error } = await collected(model.stream('x'));
  expect(chunks).toEqual([{ n: 1 }]);
  expect(error).toBeInstanceOf(DeadlineError);
});

it('ends with its caller’s signal and deadline', async () => {
  const abort = new AbortController();
  const model = await aModel(events([message({ n: 1 })], 'open'));
  const seen: unknown[] = [];
  const reading = (async () => {
    for await (const chunk of model.stream('x', { signal: abort.signal })) {
      seen.push(chunk);
      abort.abort();
    }
  })();
  await expect(reading).rejects.toThrow(AbortError);
  expect(seen).toHaveLength(1);
  const late = await collected(model.stream('x', { deadlineMs: 40 }));
  expect(late.error).toBeInstanceOf(DeadlineError);
});

it('of another kind or with broken messages is an AnswerError', async () => {
  const model = await aModel((response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end('<html>');
  });
  expect((await collected(model.stream('x'))).error).toBeInstanceOf(AnswerError);
  await server.stop();
  const broken = await aModel(events(['data: {"n":\n\n']));
  const { error } = await collected(broken.stream('x'));
  expect(error).toBeInstanceOf(GimbalError);
  expect(error).toMatchObject({ code: 'BAD_ANSWER' });
});
