import { spawn, spawnSync } from 'node:child_process';
import { afterEach, describe, expect, it } from 'vitest';
import { settled, until } from './testing/eventually.ts';
import type { RawClient } from './testing/raw-client.ts';
import { aServer, type TestServer } from './testing/test-server.ts';

let server: TestServer;

/** Refuses every body of over 1 KiB before it is read, as a server under load or with a limit does. */
async function start(): Promise<void> {
  server = await aServer((exchange) =>
    exchange.readBody(
      1024,
      () => exchange.respond(200, '', 'read'),
      (error) => exchange.respond(error.row.http, '', error.code),
    ),
  );
}

afterEach(() => server.stop());

const MEBIBYTE = 1024 * 1024;
const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const head = (length: number): string => `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`;

/** Sends everything before it looks at the answer. */
async function sendWhole(client: RawClient, length: number): Promise<void> {
  client.socket.pause();
  client.send(head(length));
  client.send(Buffer.alloc(length));
  await until(() => client.socket.writableLength === 0);
  client.socket.resume();
}

describe('a body that is refused early', () => {
  it.each([3, 50])('of %i MiB: a client that sends it before it reads sees why', async (mebibytes) => {
    await start();
    const client = await server.client();
    await sendWhole(client, mebibytes * MEBIBYTE);
    const answer = await client.answer();
    expect([answer.status, answer.headers.get('connection')]).toEqual([413, 'close']);
    expect(answer.body.toString()).toBe('INPUT_TOO_LARGE');
    client.socket.end();
    await until(() => server.http.counters.open === 0);
    expect(client.error).toBeUndefined();
  });

  it('is not answered twice, whatever stands behind it', async () => {
    await start();
    const client = await server.client();
    client.send(head(MEBIBYTE));
    client.send(Buffer.concat([Buffer.alloc(MEBIBYTE), Buffer.from(GET)]));
    expect((await client.answer()).status).toBe(413);
    await client.end();
    expect(client.received.length).toBe(0);
    expect(server.http.counters.requests).toBe(1);
  });

  it('is read up to a bound, and no further', async () => {
    await start();
    const client = await server.client();
    client.send(head(400 * MEBIBYTE));
    for (let piece = 0; piece < 100; piece += 1) client.send(Buffer.alloc(2 * MEBIBYTE));
    await client.answer();
    await settled(() => server.http.counters.receivedBytes);
    expect(server.http.counters.receivedBytes).toBeLessThan(130 * MEBIBYTE);
    server.pass(3000);
    await until(() => server.http.counters.open === 0);
  });

  it('is waited for while it comes, for a bounded time', async () => {
    await start();
    const client = await server.client();
    client.send(head(MEBIBYTE));
    await client.answer();
    for (let second = 0; second < 28; second += 1) {
      const before = server.http.counters.receivedBytes;
      client.send('x');
      await until(() => server.http.counters.receivedBytes > before);
      server.pass(1000);
      expect(server.http.counters.open).toBe(1);
    }
    client.send('x');
    server.pass(3000);
    await until(() => server.http.counters.open === 0);
  });

  it('is not waited for when its client is silent', async () => {
    await start();
    const client = await server.client();
    client.send(head(MEBIBYTE));
    await client.answer();
    server.pass(1500);
    expect(server.http.counters.open).toBe(1);
    server.pass(1500);
    await until(() => server.http.counters.open === 0);
  });
});

const CLIENT = `
import http.client, sys
connection = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]), timeout=20)
connection.request('POST', '/', body=b'x' * int(sys.argv[2]))
answer = connection.getresponse()
print(answer.status, answer.read().decode())
`;
const hasPython = spawnSync('python3', ['-c', 'import http.client']).status === 0;

describe('Python’s http.client', () => {
  it.skipIf(hasPython)('is not here: python3 is not installed', () => start());

  it.runIf(hasPython).each([1, 60])('gets the refusal of %i MiB', async (mebibytes) => {
    await start();
    const args = ['-c', CLIENT, String(server.port), String(mebibytes * MEBIBYTE)];
    const child = spawn('python3', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    let printed = '';
    child.stdout.on('data', (text) => {
      printed += text;
    });
    await new Promise((resolve) => child.once('close', resolve));
    expect(printed).toBe('413 INPUT_TOO_LARGE\n');
  });
});
