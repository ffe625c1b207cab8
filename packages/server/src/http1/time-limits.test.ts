import { afterEach, describe, expect, it } from 'vitest';
import type { Exchange, HttpLimits } from './exchange.ts';
import { settled, until } from './testing/eventually.ts';
import { aServer, echo, type TestServer } from './testing/test-server.ts';

let server: TestServer;

async function start(
  listener: (exchange: Exchange) => void,
  limits: Partial<HttpLimits> = {},
): Promise<void> {
  server = await aServer(listener, limits);
}

afterEach(() => server.stop());

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

/** Waits until the server has seen as many bytes. */
const seen = (bytes: number) => until(() => server.http.counters.receivedBytes === bytes);

describe('HttpServer', () => {
  it('cuts off a head that comes too slowly, however many bytes keep coming, with 408', async () => {
    await start(echo, { headTimeoutMs: 5000 });
    const client = await server.client();
    let sent = 0;
    for (const byte of 'GET / HTT') {
      client.send(byte);
      sent += 1;
      await seen(sent);
      server.pass(500);
    }
    expect(client.received.length).toBe(0);
    client.send('P');
    await seen(sent + 1);
    server.pass(1000);
    const answer = await client.answer();
    expect(answer.status).toBe(408);
    expect(answer.headers.get('connection')).toBe('close');
    expect(JSON.parse(answer.body.toString())).toMatchObject({ code: 'BODY_TIMEOUT', status: 408 });
    await client.end();
    expect(server.malformed.map(({ code }) => code)).toEqual(['BODY_TIMEOUT']);
  });

  it('hangs up on a client that never sends anything', async () => {
    await start(echo, { headTimeoutMs: 5000 });
    const client = await server.client();
    await until(() => server.http.counters.open === 1);
    server.pass(4500);
    expect(server.http.counters.open).toBe(1);
    server.pass(1000);
    await client.end();
    expect(client.received.length).toBe(0);
  });

  it('keeps an idle connection for its time, which a request renews', async () => {
    await start(echo, { keepAliveTimeoutMs: 10_000, headTimeoutMs: 2000 });
    const client = await server.client();
    for (let turn = 0; turn < 3; turn += 1) {
      client.send(GET);
      await client.answer();
      server.pass(9000);
      expect(client.ended).toBe(false);
    }
    server.pass(2000);
    await client.end();
    expect(client.received.length).toBe(0);
  });

  it('gives a second head its own time, from its first byte', async () => {
    await start(echo, { keepAliveTimeoutMs: 60_000, headTimeoutMs: 2000 });
    const client = await server.client();
    client.send(GET);
    await client.answer();
    server.pass(30_000);
    client.send(GET.slice(0, 5));
    await seen(GET.length + 5);
    server.pass(1500);
    expect(client.received.length).toBe(0);
    server.pass(1500);
    expect((await client.answer()).status).toBe(408);
  });

  it('fails a body that comes too slowly with BODY_TIMEOUT, and closes', async () => {
    await start(echo, { bodyTimeoutMs: 2000, minBodyBytesPerSecond: 100 });
    const client = await server.client();
    const head = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n';
    client.send(head);
    await seen(head.length);
    server.pass(1500);
    client.send('x'.repeat(200));
    await seen(head.length + 200);
    // 200 bytes have earned two seconds more.
    server.pass(2000);
    expect(client.received.length).toBe(0);
    server.pass(1000);
    const answer = await client.answer();
    expect(answer.status).toBe(408);
    expect(answer.body.toString()).toMatch(/^BODY_TIMEOUT: Cannot read the body: it came too slowly/);
    expect(answer.headers.get('connection')).toBe('close');
    await client.end();
  });

  it('gives a body that keeps up all the time it needs', async () => {
    await start(echo, { bodyTimeoutMs: 2000, minBodyBytesPerSecond: 100 });
    const client = await server.client();
    const head = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\n';
    client.send(head);
    for (let sent = 100; sent <= 2000; sent += 100) {
      client.send('x'.repeat(100));
      await seen(head.length + sent);
      server.pass(1000);
    }
    expect((await client.answer()).status).toBe(200);
  });

  it('has no time limit of its own for an answer, nor for a body that nobody asked for', async () => {
    let exchange: Exchange | undefined;
    await start((given) => {
      exchange = given;
    });
    const client = await server.client();
    client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n');
    await until(() => exchange !== undefined);
    server.pass(3_600_000);
    expect(exchange?.closed).toBe(false);
    if (exchange) echo(exchange);
    client.send('body');
    expect((await client.answer()).body.toString()).toBe('POST /? body');
  });

  it('hangs up on a client that does not send the body that was refused', async () => {
    await start((exchange) => exchange.respond(404, '', ''), { bodyTimeoutMs: 2000 });
    const client = await server.client();
    client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n');
    await client.answer();
    server.pass(1500);
    expect(server.http.counters.open).toBe(1);
    server.pass(1500);
    await until(() => server.http.counters.open === 0);
  });

  it('cuts off a client that takes nothing of its answer, and returns the memory', async () => {
    let flushes = 0;
    await start(
      (exchange) => {
        exchange.respond(200, '', new Uint8Array(30_000_000), () => {
          flushes += 1;
        });
      },
      { writeTimeoutMs: 3000 },
    );
    const client = await server.client();
    client.keepsBytes = false;
    client.socket.pause();
    client.send(GET);
    await until(() => server.http.counters.requests === 1);
    await settled(() => flushes);
    server.pass(2500);
    expect([server.http.counters.open, flushes]).toEqual([1, 0]);
    server.pass(1500);
    await until(() => server.http.counters.open === 0);
    expect(flushes).toBe(1);
  });

  it('is patient with a client that takes its answer slowly but steadily', async () => {
    await start((exchange) => exchange.respond(200, '', new Uint8Array(30_000_000)), {
      writeTimeoutMs: 3000,
    });
    const client = await server.client();
    client.keepsBytes = false;
    let taken = 0;
    client.socket.on('data', (bytes) => {
      taken += bytes.length;
    });
    client.socket.pause();
    client.send(GET);
    await until(() => server.http.counters.requests === 1);
    while (taken < 30_000_000) {
      const before = taken;
      client.socket.resume();
      await until(() => taken >= Math.min(before + 4_000_000, 30_000_000));
      client.socket.pause();
      // The kernel's buffers are now in motion: what left ours is progress.
      await settled(() => taken);
      server.pass(2000);
      expect(server.http.counters.open).toBe(1);
    }
  });

  it('waits only so long for a client to hang up after the last answer', async () => {
    await start(echo);
    const client = await server.client();
    client.send('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    await client.answer();
    await client.end();
    server.pass(1500);
    expect(server.http.counters.open).toBe(1);
    server.pass(1500);
    await until(() => server.http.counters.open === 0);
  });
});
