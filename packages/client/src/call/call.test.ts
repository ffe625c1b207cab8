import { beforeEach, describe, expect, it } from 'vitest';
import { Client } from '../client.ts';
import type { ClientOptions } from '../client-options.ts';
import { AbortError, DeadlineError, GimbalError, OverloadedError, ValidationError } from '../errors.ts';
import { FakeFetch } from '../testing/fake-fetch.ts';
import { aPrediction, aProblem } from '../testing/fake-server.ts';
import { settle, VirtualPorts } from '../testing/virtual-ports.ts';

let ports: VirtualPorts;
let server: FakeFetch;

beforeEach(() => {
  ports = new VirtualPorts();
  server = new FakeFetch();
});

function aModel(options: Partial<ClientOptions> = {}) {
  return new Client({ baseUrl: 'http://server', ports, fetch: server.fetch, ...options }).model('cats');
}

/** What a call came to; undefined while it runs. */
class Watched<T> {
  value: T | undefined;
  error: unknown;

  constructor(call: Promise<T>) {
    call.then(
      (value) => {
        this.value = value;
      },
      (error: unknown) => {
        this.error = error;
      },
    );
  }

  get failure(): GimbalError {
    if (this.error instanceof GimbalError) return this.error;
    throw new Error(`the call has not failed as it should: ${this.error}`);
  }
}

describe('retries', () => {
  it.each([408, 429, 502, 503, 504])('come after status %d', async (status) => {
    const call = new Watched(aModel().infer('x'));
    await settle();
    server.last.answer(status, {});
    await ports.pass(100);
    server.last.answer(200, aPrediction());
    await settle();
    expect(call.value).toMatchObject({ model: 'cats' });
    expect(server.requests.map(({ headers }) => headers.get('inference-attempt'))).toEqual(['1', '2']);
  });

  it.each([400, 401, 404, 409, 413, 422, 500, 501])('do not come after status %d', async (status) => {
    const call = new Watched(aModel().infer('x'));
    await settle();
    server.last.answer(status, {});
    await ports.pass(60_000);
    expect(call.failure).toMatchObject({ status, attempts: 1, retryable: false });
    expect(server.requests).toHaveLength(1);
  });

  it('come as the server says, whatever the status', async () => {
    const told = new Watched(aModel().infer('x'));
    await settle();
    server.last.answer(504, aProblem('DEADLINE_EXCEEDED', { retryable: false }));
    await ports.pass(10_000);
    expect(told.failure).toMatchObject({ code: 'DEADLINE_EXCEEDED', attempts: 1 });
    const again = new Watched(aModel().infer('x'));
    await settle();
    server.last.answer(500, aProblem('OUTPUT_INVALID', { retryable: true }));
    await ports.pass(100);
    expect(server.requests).toHaveLength(3);
    server.last.answer(200, aPrediction());
    await settle();
    expect(again.value).toBeDefined();
  });

  it('end after maxRetries, and the last error tells how many were sent', async () => {
    const call = new Watched(aModel().infer('x'));
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      await settle();
      server.last.answer(503, aProblem('OVERLOADED', { retryable: true }));
      await ports.pass(500);
    }
    expect(call.failure).toBeInstanceOf(OverloadedError);
    expect(call.failure).toMatchObject({ attempts: 3, retryable: true, code: 'OVERLOADED' });
    expect(server.requests).toHaveLength(3);
  });

  it('have one idempotency key for a call, and another for the next', async () => {
    const model = aModel();
    const first = new Watched(model.infer('x'));
    await settle();
    server.last.answer(503, {});
    await ports.pass(100);
    server.last.answer(200, aPrediction());
    const second = new Watched(model.infer('x', { idempotencyKey: 'mine' }));
    await settle();
    server.last.answer(200, aPrediction());
    await settle();
    expect(first.value && second.value).toBeDefined();
    expect(server.requests.map(({ headers }) => headers.get('idempotency-key'))).toEqual([
      'key-1',
      'key-1',
      'mine',
    ]);
  });

  it('are shared by a client: a tenth of its calls and a floor', async () => {
    const model = aModel();
    const calls = Array.from({ length: 100 }, () => new Watched(model.infer('x', { maxRetries: 1 })));
    await settle();
    for (const request of server.requests) request.answer(503, aProblem('OVERLOADED', { retryable: true }));
    await ports.pass(200);
    expect(server.requests).toHaveLength(120);
    for (const request of server.requests.slice(100)) request.answer(200, aPrediction());
    await settle();
    expect(calls.filter(({ value }) => value)).toHaveLength(20);
    expect(calls.filter(({ error }) => error instanceof OverloadedError)).toHaveLength(80);
  });

  it('wait as long as the server asks', async () => {
    const call = new Watched(aModel().infer('x'));
    await settle();
    server.last.answer(503, {}, { 'retry-after': '3' });
    await ports.pass(2999);
    expect(server.requests).toHaveLength(1);
    await ports.pass(1);
    server.last.answer(200, aPrediction());
    await settle();
    expect(call.value).toBeDefined();
  });

  it('do not wait longer than the cap: the call fails at once and tells the time', async () => {
    const call = new Watched(aModel().infer('x'));
    await settle();
    server.last.answer(429, {}, { 'retry-after': '277403' });
    await settle();
    expect(call.failure).toMatchObject({ name: 'RateLimitError', retryAfterMs: 277_403_000, attempts: 1 });
    expect(ports.pending).toBe(0);
  });
});

describe('deadlines', () => {
  it('end a call that hangs, without a further attempt', async () => {
    const call = new Watched(aModel().infer('x', { deadlineMs: 500 }));
    await ports.pass(499);
    expect(call.error).toBeUndefined();
    await ports.pass(1);
    expect(call.failure).toBeInstanceOf(DeadlineError);
    expect(call.failure).toMatchObject({ attempts: 1, retryable: false, code: 'DEADLINE_EXCEEDED' });
    expect(server.last.signal.aborted).toBe(true);
    await ports.pass(100_000);
    expect(server.requests).toHaveLength(1);
  });

  it('are told to the server, less what has passed', async () => {
    const call = new Watched(aModel().infer('x', { deadlineMs: 1000 }));
    await ports.pass(300);
    server.last.answer(503, {});
    await ports.pass(100);
    expect(server.requests.map(({ headers }) => headers.get('inference-timeout-ms'))).toEqual([
      '1000',
      '600',
    ]);
    server.last.answer(200, aPrediction());
    await settle();
    expect(call.value).toBeDefined();
  });

  it('of an attempt are fresh for each, and bounded by the call’s', async () => {
    const call = new Watched(aModel({ attemptTimeoutMs: 400 }).infer('x', { deadlineMs: 1000 }));
    await ports.pass(400);
    expect(server.requests[0]?.signal.aborted).toBe(true);
    await ports.pass(100);
    expect(server.requests.map(({ headers }) => headers.get('inference-timeout-ms'))).toEqual(['400', '400']);
    await ports.pass(400);
    // 100 ms are left: the second wait, of 100 ms, would not end before.
    expect(call.failure).toMatchObject({ name: 'DeadlineError', attempts: 2 });
    expect(server.requests).toHaveLength(2);
  });

  it('that the server ran into are tried again when they were the attempt’s own', async () => {
    const refusal = aProblem('DEADLINE_EXCEEDED', { retryable: false });
    const call = new Watched(aModel({ attemptTimeoutMs: 400 }).infer('x', { deadlineMs: 5000 }));
    await settle();
    server.last.answer(504, refusal);
    await ports.pass(100);
    server.last.answer(200, aPrediction());
    await settle();
    expect(call.value).toBeDefined();
  });

  it('are durations: an instant is refused', async () => {
    await expect(aModel().infer('x', { deadlineMs: Date.now() + 500 })).rejects.toThrow(ValidationError);
    expect(server.requests).toHaveLength(0);
  });
});

describe('aborts', () => {
  it('end a running attempt at once, though its fetch does not care', async () => {
    const abort = new AbortController();
    const call = new Watched(aModel().infer('x', { signal: abort.signal }));
    await settle();
    abort.abort(new Error('enough'));
    await settle();
    expect(call.failure).toBeInstanceOf(AbortError);
    expect(call.failure).toMatchObject({ cause: new Error('enough'), attempts: 1, retryable: false });
    expect(server.last.signal.aborted).toBe(true);
  });

  it('end a wait between attempts at once, and nothing is sent after', async () => {
    const abort = new AbortController();
    const call = new Watched(aModel().infer('x', { signal: abort.signal }));
    await settle();
    server.last.answer(503, {}, { 'retry-after': '5' });
    await ports.pass(100);
    abort.abort();
    await settle();
    expect(call.failure).toBeInstanceOf(AbortError);
    await ports.pass(60_000);
    expect(server.requests).toHaveLength(1);
    expect(ports.pending).toBe(0);
  });

  it('before the call send nothing', async () => {
    await expect(aModel().infer('x', { signal: AbortSignal.abort() })).rejects.toThrow(AbortError);
    expect(server.requests).toHaveLength(0);
  });

  it('by AbortSignal.timeout are never tried again', async () => {
    const call = aModel().infer('x', { signal: AbortSignal.timeout(1) });
    await expect(call).rejects.toThrow(AbortError);
    await ports.pass(60_000);
    expect(server.requests).toHaveLength(1);
  });
});

describe('hedges', () => {
  it('are sent after the given time, win, and cancel the slow one', async () => {
    const call = new Watched(aModel({ hedge: { afterMs: 50 } }).infer('x'));
    await ports.pass(49);
    expect(server.requests).toHaveLength(1);
    await ports.pass(1);
    expect(server.requests.map(({ headers }) => headers.get('idempotency-key'))).toEqual([
      'key-1',
      'key-1-hedge',
    ]);
    server.last.answer(200, aPrediction());
    await settle();
    expect(call.value).toBeDefined();
    expect(server.requests[0]?.signal.aborted).toBe(true);
  });

  it('that fail leave the call to the first', async () => {
    const call = new Watched(aModel({ hedge: { afterMs: 50 } }).infer('x'));
    await ports.pass(50);
    server.last.fail(new TypeError('fetch failed'));
    await settle();
    expect(call.error).toBeUndefined();
    server.requests[0]?.answer(200, aPrediction());
    await settle();
    expect(call.value).toBeDefined();
  });

  it('wait for the p95 of the model, and stay within their budget', async () => {
    const model = aModel({ hedge: true });
    for (let call = 0; call < 40; call += 1) {
      const done = new Watched(model.infer('x'));
      await ports.pass(call < 18 ? 20 : 15);
      server.last.answer(200, aPrediction());
      await settle();
      expect(done.value).toBeDefined();
    }
    expect(server.requests, 'quick answers are not hedged').toHaveLength(40);
    const slow = Array.from({ length: 10 }, () => new Watched(model.infer('x')));
    await ports.pass(1000);
    // A twentieth of fifty calls, and one to begin with.
    expect(server.requests.length - 50).toBe(3);
    for (const request of server.requests) request.answer(200, aPrediction());
    await settle();
    expect(slow.every(({ value }) => value)).toBe(true);
  });

  it('are off unless they are asked for', async () => {
    const call = new Watched(aModel().infer('x'));
    await ports.pass(5000);
    expect(server.requests).toHaveLength(1);
    server.last.answer(200, aPrediction());
    await settle();
    expect(call.value).toBeDefined();
  });
});

it('nothing is left of a call that has ended: no timer, no listener', async () => {
  const abort = new AbortController();
  let listeners = 0;
  const { signal } = abort;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  Object.assign(signal, {
    addEventListener: (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    },
    removeEventListener: (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    },
  });
  const call = new Watched(aModel({ attemptTimeoutMs: 100, hedge: { afterMs: 20 } }).infer('x', { signal }));
  await settle();
  server.last.answer(200, aPrediction());
  await settle();
  expect(call.value).toBeDefined();
  expect(ports.pending).toBe(0);
  expect(listeners).toBe(0);
});
