import { once } from 'node:events';
import { type ClientHttp2Session, connect, constants } from 'node:http2';
import { GimbalError } from '@gimbal/core';
import { Metadata, status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { anAddSubModel, anEchoModel, aTensorSpec } from '../testing/fake-model.ts';
import type { GrpcSettings } from './grpc-settings.ts';
import { WINDOW_BYTES } from './sessions.ts';
import { anAddSub, GrpcBench, METHODS } from './testing/grpc-bench.ts';
import { readStatus } from './testing/read-status.ts';

let bench: GrpcBench;

async function aBench(settings: Partial<GrpcSettings> = {}): Promise<GrpcBench> {
  bench = await new GrpcBench(
    [anAddSubModel(), anEchoModel('echo', [aTensorSpec('X', 'FP32', [-1, -1])])],
    settings,
  ).start();
  return bench;
}

afterEach(async () => {
  await bench.stop();
  bench.inference.assertClean();
});

function metadataOf(given: Record<string, string>): Metadata {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(given)) metadata.set(key, value);
  return metadata;
}

function anEcho(byteLength: number): Record<string, unknown> {
  const shape = [1, byteLength / 4];
  return {
    model_name: 'echo',
    inputs: [{ name: 'X', datatype: 'FP32', shape }],
    raw_input_contents: [Buffer.alloc(byteLength, 7)],
  };
}

/** Pings one after another; returns how many were answered. */
async function pinged(session: ClientHttp2Session, count: number): Promise<number> {
  let answered = 0;
  for (let sent = 0; sent < count && !session.destroyed; sent += 1) {
    await new Promise<void>((resolve) => {
      session.ping((error) => {
        if (!error) answered += 1;
        resolve();
      });
    });
  }
  return answered;
}

describe('ModelInfer', () => {
  it('answers with outputs, metadata and one record', async () => {
    await aBench();
    const answer = bench.ask('ModelInfer', anAddSub('a'), {
      metadata: metadataOf({
        'x-request-id': 'mine',
        'inference-criticality': 'critical',
        'inference-timeout-ms': '5000',
        traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
      }),
    });
    await bench.settle();
    const { message, error, metadata } = await answer;
    expect(error).toBeUndefined();
    const [raw] = (message as { raw_output_contents: Buffer[] }).raw_output_contents;
    expect([0, 1, 2].map((index) => raw?.readInt32LE(index * 4))).toEqual([0, 2, 4]);
    expect(message).toMatchObject({ id: 'a', model_name: 'add-sub', model_version: '1' });
    expect(metadata?.get('x-request-id')).toEqual(['mine']);
    expect(metadata?.get('inference-model')).toEqual(['add-sub']);
    expect(metadata?.get('server-timing')[0]).toMatch(/infer;dur=2\.00/);
    expect(bench.inference.calls[0]?.context).toMatchObject({
      requestId: 'mine',
      protocol: 'grpc',
      criticality: 'critical',
      timeoutMs: 5000,
    });
    expect(bench.records).toHaveLength(1);
    expect(bench.records[0]).toMatchObject({
      protocol: 'grpc',
      route: '/inference.GRPCInferenceService/ModelInfer',
      outcome: 'ok',
      status: 200,
      rows: 1,
      traceId: 'a'.repeat(32),
    });
    expect(bench.records[0]?.requestBytes).toBeGreaterThan(16);
    expect(bench.records[0]?.responseBytes).toBeGreaterThan(128);
  });

  it('refuses metadata before the message is read', async () => {
    await aBench();
    const { error } = await bench.ask('ModelInfer', anAddSub(), {
      metadata: metadataOf({ 'inference-criticality': 'urgent' }),
    });
    expect(error?.code).toBe(status.INVALID_ARGUMENT);
    expect(bench.inference.calls).toHaveLength(0);
    expect(bench.records[0]).toMatchObject({ outcome: 'client_error', requestBytes: 0 });
  });

  it('says a shed call’s code and when to come back', async () => {
    await aBench();
    bench.inference.refuseNext = new GimbalError('OVERLOADED', 'Cannot take it', { retryAfterMs: 2000 });
    const { error } = await bench.ask('ModelInfer', anAddSub());
    expect(error?.code).toBe(status.UNAVAILABLE);
    const [bytes] = error?.metadata.get('grpc-status-details-bin') ?? [];
    expect(readStatus(bytes as Buffer).details.ErrorInfo).toMatchObject({ reason: 'OVERLOADED' });
    expect(bench.records[0]).toMatchObject({ outcome: 'shed', code: 'OVERLOADED', status: 503 });
  });

  it('takes the smallest of all budgets: grpc-timeout, header and parameter', async () => {
    await aBench();
    const cases = [
      { header: '9000', timeout: '8000000', deadlineMs: 7_000, expected: 7_000 },
      { header: '5000', timeout: '8000000', deadlineMs: 7_000, expected: 5_000 },
      { header: '9000', timeout: '3000000', deadlineMs: 7_000, expected: 3_000 },
    ];
    for (const [index, { header, timeout, deadlineMs, expected }] of cases.entries()) {
      const answer = bench.ask(
        'ModelInfer',
        anAddSub('', { parameters: { timeout: { uint64_param: timeout } } }),
        {
          metadata: metadataOf({ 'inference-timeout-ms': header }),
          options: { deadline: Date.now() + deadlineMs },
        },
      );
      await bench.settle();
      await answer;
      const got = bench.inference.calls[index]?.context.timeoutMs ?? 0;
      expect(got).toBeGreaterThan(expected - 1_000);
      expect(got).toBeLessThanOrEqual(expected);
    }
  });

  it('takes budgets that the library could not count', async () => {
    await aBench();
    const session = connect(`http://127.0.0.1:${bench.port}`);
    const message = METHODS.ModelInfer?.requestSerialize(anAddSub()) as Buffer;
    const frame = Buffer.alloc(5 + message.length);
    frame.writeUInt32BE(message.length, 1);
    message.copy(frame, 5);
    const stream = session.request({
      ':method': 'POST',
      ':path': '/inference.GRPCInferenceService/ModelInfer',
      'content-type': 'application/grpc',
      te: 'trailers',
      'grpc-timeout': '99999999H',
    });
    let trailers: Record<string, unknown> = {};
    stream.on('trailers', (given) => {
      trailers = given;
    });
    stream.resume().end(frame);
    await bench.settle();
    await once(stream, 'close');
    expect(trailers['grpc-status']).toBe('0');
    session.destroy();
  });

  it('ends the call of a client that leaves', async () => {
    await aBench();
    const client = bench.client();
    void bench.ask('ModelInfer', anAddSub(), { client });
    await bench.until('a work waits', () => bench.inference.waiting.length === 1);
    client.close();
    // Closing a channel lets calls end; its connection is cut like a client's that crashed.
    await bench.server.close(0);
    await bench.until('the call is closed', () => bench.inference.calls.every((call) => call.closed));
    expect(bench.records.map(({ outcome }) => outcome)).toEqual(['cancelled']);
  });

  it('ends the call when grpc-timeout has passed, as a timeout', async () => {
    await aBench();
    const { error } = await bench.ask('ModelInfer', anAddSub(), { options: { deadline: Date.now() + 60 } });
    expect(error?.code).toBe(status.DEADLINE_EXCEEDED);
    await bench.until('a record', () => bench.records.length === 1);
    expect(['timeout', 'cancelled']).toContain(bench.records[0]?.outcome);
  });

  it('refuses a message over the limit by its head, with our code, and counts it', async () => {
    await aBench();
    const { error } = await bench.ask('ModelInfer', anEcho(2 * 1024 * 1024));
    expect(error?.code).toBe(status.RESOURCE_EXHAUSTED);
    const [bytes] = error?.metadata.get('grpc-status-details-bin') ?? [];
    expect(readStatus(bytes as Buffer).details.ErrorInfo).toMatchObject({ reason: 'INPUT_TOO_LARGE' });
    expect(bench.records).toMatchObject([{ code: 'INPUT_TOO_LARGE', outcome: 'client_error' }]);
  });

  it('refuses a message when those that are arriving fill their memory, and takes it when they have gone', async () => {
    await aBench({ maxCollectedBytes: 1024 * 1024 });
    // The head of a message of 800 KiB, whose rest never comes.
    const session = connect(`http://127.0.0.1:${bench.port}`);
    const slow = session.request({
      ':method': 'POST',
      ':path': '/inference.GRPCInferenceService/ModelInfer',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    slow.on('error', () => {});
    const head = Buffer.alloc(5);
    head.writeUInt32BE(800 * 1024, 1);
    slow.write(head);
    let refused: number | undefined;
    await bench.until('the slow message is counted', () => {
      if (refused === undefined) {
        refused = 0;
        void bench.ask('ModelInfer', anEcho(400 * 1024)).then(({ error }) => {
          refused = error ? error.code : undefined;
        });
      }
      bench.inference.settleAll();
      return refused === status.UNAVAILABLE;
    });
    slow.close(constants.NGHTTP2_CANCEL);
    await once(slow, 'close');
    const answer = bench.ask('ModelInfer', anEcho(400 * 1024));
    await bench.settle();
    expect((await answer).error).toBeUndefined();
    session.destroy();
  });
});

describe('ModelStreamInfer', () => {
  it('takes no more requests than it may have inside, and all in the end', async () => {
    await aBench({ maxStreamInFlight: 3 });
    const method = METHODS.ModelStreamInfer;
    if (!method) throw new Error('ModelStreamInfer is missing');
    const stream = bench
      .client()
      .makeBidiStreamRequest(method.path, method.requestSerialize, method.responseDeserialize);
    const ids: string[] = [];
    stream.on('data', ({ infer_response }: { infer_response: { id: string } }) =>
      ids.push(infer_response.id),
    );
    for (let number = 0; number < 20; number += 1) stream.write(anAddSub(String(number)));
    stream.end();
    let most = 0;
    await bench.until('all are answered', () => {
      most = Math.max(most, bench.inference.waiting.length);
      if (bench.inference.waiting.length === 3 || ids.length >= 18) bench.inference.settleAll();
      return ids.length === 20;
    });
    expect(most).toBe(3);
    expect(new Set(ids).size).toBe(20);
    expect(bench.records).toHaveLength(20);
    expect(new Set(bench.records.map(({ requestId }) => requestId)).size).toBe(20);
  });

  it('ends all that is inside when the client leaves', async () => {
    await aBench();
    const method = METHODS.ModelStreamInfer;
    if (!method) throw new Error('ModelStreamInfer is missing');
    const stream = bench
      .client()
      .makeBidiStreamRequest(method.path, method.requestSerialize, method.responseDeserialize);
    stream.on('error', () => {});
    for (let number = 0; number < 10; number += 1) stream.write(anAddSub());
    await bench.until('four are inside', () => bench.inference.waiting.length === 4);
    stream.cancel();
    await bench.until('all are closed', () => bench.inference.calls.every((call) => call.closed));
    expect(bench.records.map(({ outcome }) => outcome)).toEqual(new Array(4).fill('cancelled'));
  });
});

describe('the server', () => {
  it('gives clients windows of a mebibyte on streams and connections', async () => {
    await aBench();
    const session = connect(`http://127.0.0.1:${bench.port}`);
    const [settings] = await once(session, 'remoteSettings');
    expect(settings.initialWindowSize).toBe(WINDOW_BYTES);
    await bench.until('the connection’s window grows', () => {
      return (session.state.remoteWindowSize ?? 0) >= WINDOW_BYTES;
    });
    expect(settings.maxConcurrentStreams).toBe(100);
    session.destroy();
  });

  it('lets calls inside finish while it closes, and takes no connection afterwards', async () => {
    await aBench();
    const client = bench.client();
    const answers = Array.from({ length: 5 }, () => bench.ask('ModelInfer', anAddSub(), { client }));
    await bench.until('five wait', () => bench.inference.waiting.length === 5);
    const closed = bench.server.close(10_000);
    // On their way when the client is told to go: they are still taken.
    const late = bench.ask('ModelInfer', anAddSub(), { client });
    await bench.until('six wait', () => bench.inference.waiting.length === 6);
    bench.inference.settleAll();
    for (const { error } of await Promise.all([...answers, late])) expect(error).toBeUndefined();
    await closed;
    await bench.until('nothing is open', () => bench.server.counters.connections === 0);
    expect(bench.server.counters.calls).toBe(0);
    expect((await bench.ask('ServerLive', {})).error?.code).toBe(status.UNAVAILABLE);
  });

  it('cuts off what has not ended after the grace, and hurries when told again', async () => {
    await aBench();
    const answer = bench.ask('ModelInfer', anAddSub());
    await bench.until('it waits', () => bench.inference.waiting.length === 1);
    const closed = bench.server.close(600_000);
    void bench.server.close(10);
    await closed;
    expect((await answer).error?.code).toBeDefined();
    expect(bench.inference.calls.every((call) => call.closed)).toBe(true);
  });

  it('sends an idle client away that pings without end', async () => {
    await aBench({ minPingIntervalMs: 60_000 });
    const session = connect(`http://127.0.0.1:${bench.port}`);
    session.on('error', () => {});
    await once(session, 'connect');
    const gone = once(session, 'goaway');
    await pinged(session, 10);
    const [code, , data] = await gone;
    expect(code).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    expect(Buffer.from(data).toString()).toBe('too_many_pings');
  });

  it('lets a client that has a call ping', async () => {
    await aBench({ minPingIntervalMs: 60_000 });
    const session = connect(`http://127.0.0.1:${bench.port}`);
    const stream = session.request({
      ':method': 'POST',
      ':path': '/inference.GRPCInferenceService/ModelStreamInfer',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    await once(stream, 'response');
    expect(await pinged(session, 10)).toBe(10);
    expect(session.closed).toBe(false);
    session.destroy();
  });

  it('answers bytes that are no request in every method with a status of the registry', async () => {
    await aBench();
    const client = bench.client();
    const noise = Buffer.from([0x0a, 0xff, 0xff, 0xff]);
    for (const [name, { path, requestStream }] of Object.entries(METHODS)) {
      if (requestStream) continue;
      const code = await new Promise<number | undefined>((resolve) => {
        client.makeUnaryRequest(
          path,
          () => noise,
          (bytes: Buffer) => bytes,
          {},
          (error) => resolve(error?.code),
        );
      });
      expect(code, name).toBe(status.INVALID_ARGUMENT);
    }
  });

  it('tells those who watch its health when it changes', async () => {
    await aBench();
    const call = bench.client().makeServerStreamRequest(
      '/grpc.health.v1.Health/Watch',
      (service: Buffer) => service,
      (bytes: Buffer) => bytes[1] ?? 0,
      Buffer.from('\u000a\u0007add-sub'),
    );
    const seen: number[] = [];
    call.on('data', (state: number) => seen.push(state));
    await bench.until('the first word', () => seen.length === 1);
    const [echo] = bench.inference.versions;
    if (echo) echo.state = 'unavailable';
    await bench.until('the second', () => seen.length === 2);
    expect(seen).toEqual([1, 2]);
    call.on('error', () => {});
    call.cancel();
  });
});
