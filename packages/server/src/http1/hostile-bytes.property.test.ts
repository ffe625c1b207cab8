import { randomInteger, SeededRandom } from '@gimbal/core';
import { expect, it } from 'vitest';
import { until } from './testing/eventually.ts';
import { aServer, echo } from './testing/test-server.ts';

const SEED = 4711;
const CLIENTS = 400;

const FRAGMENTS = [
  'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
  'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello',
  'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n',
  'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
  'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n',
  'POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n',
  'HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  'ffffffff\r\n',
  'hello',
  '\r\n',
  '\0\xff',
  'X'.repeat(20_000),
];

it(`HttpServer outlives hostile bytes and clients that vanish anywhere (seed ${SEED})`, async () => {
  const random = new SeededRandom(SEED);
  const index = (length: number) => randomInteger(random, { low: 0, high: length - 1 });
  const server = await aServer(
    (exchange) => {
      // Some answer at once, some read first, some answer later, some never.
      const kind = random.next();
      if (kind < 0.5) echo(exchange);
      else if (kind < 0.7) exchange.respond(404, '', new Uint8Array(50_000));
      else if (exchange.head.path === '/honest' || kind < 0.9) setImmediate(() => echo(exchange));
    },
    { maxConnections: 2 * CLIENTS },
  );
  for (let turn = 0; turn < CLIENTS; turn += 1) {
    const client = await server.client();
    client.keepsBytes = false;
    for (let count = index(6); count >= 0; count -= 1) {
      let bytes = FRAGMENTS[index(FRAGMENTS.length)] ?? '';
      if (random.next() < 0.3) bytes = bytes.slice(0, index(bytes.length + 1));
      client.send(bytes);
      if (random.next() < 0.3) await new Promise((resolve) => setImmediate(resolve));
    }
    const way = random.next();
    if (way < 0.3) client.destroy();
    else if (way < 0.6) client.socket.end();
    else if (way < 0.8) client.socket.resetAndDestroy();
    if (turn % 50 === 0) server.pass(1000);
  }
  const honest = await server.client();
  honest.send('GET /honest HTTP/1.1\r\nHost: a\r\n\r\n');
  await until(() => honest.received.length > 0 || honest.closed);
  expect(honest.received.toString()).toMatch(/^HTTP\/1\.1 (200|404) /);
  const closed = server.http.close(2000);
  server.pass(3000);
  await closed;
  expect(server.http.counters.open).toBe(0);
  await server.stop();
});
