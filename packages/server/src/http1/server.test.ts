import { afterEach, describe, expect, it } from 'vitest';
import type { Exchange, HttpLimits } from './exchange.ts';
import { settled, until } from './testing/eventually.ts';
import { aServer, echo, type TestServer } from './testing/test-server.ts';

let server: TestServer;
const open: TestServer[] = [];

async function start(
  listener: (exchange: Exchange) => void,
  limits: Partial<HttpLimits> = {},
): Promise<void> {
  server = await aServer(listener, limits);
  open.push(server);
}

afterEach(async () => {
  for (const one of open.splice(0)) await one.stop();
});

const post = (body: string, headers = '', path = '/') =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${headers}\r\n${body}`;
const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`;

describe('HttpServer', () => {
  it('answers requests on one connection, with length and date', async () => {
    await start(echo);
    const client = await server.client();
    client.send(post('one', '', '/a?b'));
    const first = await client.answer();
    expect(first.status).toBe(200);
    expect(first.body.toString()).toBe('POST /a?b one');
    expect(Object.fromEntries(first.headers)).toEqual({
      'content-type': 'text/plain',
      'content-length': '13',
      date: 'Sun, 06 Nov 1994 08:49:38 GMT',
    });
    client.send(get('/c'));
    expect((await client.answer()).body.toString()).toBe('GET /c? ');
    expect(server.http.counters).toMatchObject({ open: 1, accepted: 1, requests: 2, malformed: 0 });
  });

  it('answers the same whatever the pieces in which a request comes', async () => {
    await start(echo);
    const request = post('some body', '', '/path');
    let receivedBytes = 0;
    for (let at = 1; at < request.length; at += 7) {
      const client = await server.client();
      client.send(request.slice(0, at));
      const due = receivedBytes + at;
      await until(() => server.http.counters.receivedBytes === due);
      receivedBytes += request.length;
      client.send(request.slice(at));
      expect((await client.answer()).body.toString()).toBe('POST /path? some body');
      client.destroy();
    }
  });

  it('reads chunked bodies', async () => {
    await start(echo);
    const client = await server.client();
    const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
    client.send(`${head}3\r\nabc\r\n`);
    client.send(`3;x=y\r\ndef\r\n0\r\nT: v\r\n\r\n${head}0\r\n\r\n`);
    expect((await client.answer()).body.toString()).toBe('POST /? abcdef');
    expect((await client.answer()).body.toString()).toBe('POST /? ');
  });

  it('reads a head as long as the limit allows, in any number of pieces', async () => {
    await start((exchange) => exchange.respond(200, '', `${exchange.head.header('x-long')?.length}`), {
      maxHeadBytes: 1024 * 1024,
    });
    const client = await server.client();
    client.send('GET / HTTP/1.1\r\nHost: a\r\nX-Long: ');
    for (let piece = 0; piece < 9; piece += 1) client.send('x'.repeat(100_000));
    client.send('\r\n\r\n');
    expect((await client.answer()).body.toString()).toBe('900000');
  });

  it('lets other connections have their turn between many pipelined requests', async () => {
    const order: string[] = [];
    await start((exchange) => {
      order.push(exchange.head.path);
      exchange.respond(200, '', '');
    });
    const greedy = await server.client();
    const other = await server.client();
    const count = 2000;
    greedy.send(get('/greedy').repeat(count));
    await until(() => order.length > 0);
    other.send(get('/other'));
    await other.answer();
    await until(() => order.length === count + 1);
    expect(order.indexOf('/other')).toBeLessThan(count);
  });

  it('answers pipelined requests in their order, one at a time', async () => {
    const waiting: Exchange[] = [];
    await start((exchange) => waiting.push(exchange));
    const client = await server.client();
    client.send(get('/1') + post('x', '', '/2') + get('/3'));
    for (const path of ['/1', '/2', '/3']) {
      await until(() => waiting.length > 0);
      expect(waiting.map(({ head }) => head.path)).toEqual([path]);
      waiting.pop()?.respond(200, '', path);
      expect((await client.answer()).body.toString()).toBe(path);
    }
  });

  it('answers many pipelined requests that came in one piece', async () => {
    await start(echo);
    const client = await server.client();
    const count = 3000;
    client.send(Array.from({ length: count }, (_, index) => post(`${index}`)).join(''));
    for (let index = 0; index < count; index += 1) {
      expect((await client.answer()).body.toString()).toBe(`POST /? ${index}`);
    }
  });

  it('holds few pipelined requests and stops reading behind an unanswered one', async () => {
    let first: Exchange | undefined;
    await start((exchange) => {
      if (first) exchange.respond(200, '', '');
      else first = exchange;
    });
    const client = await server.client();
    const request = post('x'.repeat(1000));
    const count = 20_000;
    client.send(request.repeat(count));
    await until(() => client.socket.writableLength > 0 && first !== undefined);
    await settled(() => server.http.counters.receivedBytes);
    expect(server.http.counters.receivedBytes).toBeLessThan(1024 * 1024);
    first?.respond(200, '', '');
    await client.answer();
    await until(() => server.http.counters.requests === count);
    client.destroy();
  });

  it('stops taking requests of a client that does not read its answers', async () => {
    await start((exchange) => exchange.respond(200, '', new Uint8Array(200_000)));
    const client = await server.client();
    client.keepsBytes = false;
    client.socket.pause();
    client.send(get('/').repeat(300));
    await until(() => server.http.counters.requests > 1);
    await settled(() => server.http.counters.requests);
    expect(server.http.counters.requests).toBeLessThan(150);
    client.socket.resume();
    await until(() => server.http.counters.requests === 300);
  });

  it('keeps and closes HTTP/1.0 connections as they ask', async () => {
    await start(echo);
    const client = await server.client();
    client.send('GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n');
    expect((await client.answer()).headers.get('connection')).toBe('keep-alive');
    client.send('GET /b HTTP/1.0\r\n\r\n');
    expect((await client.answer()).headers.get('connection')).toBe('close');
    await client.end();
  });

  it('closes behind the answer when the client asks for it, and drops what follows', async () => {
    await start(echo);
    const client = await server.client();
    client.send(get('/a', 'Connection: close\r\n') + get('/b'));
    const answer = await client.answer();
    expect(answer.headers.get('connection')).toBe('close');
    await client.end();
    expect(client.received.length).toBe(0);
    expect(server.http.counters.requests).toBe(1);
  });

  it('closes after the last request that a connection may have', async () => {
    await start(echo, { maxRequestsPerConnection: 2 });
    const client = await server.client();
    client.send(get('/a') + get('/b') + get('/c'));
    expect((await client.answer()).headers.get('connection')).toBeUndefined();
    expect((await client.answer()).headers.get('connection')).toBe('close');
    await client.end();
    expect(client.received.length).toBe(0);
  });

  it('answers HEAD with the length and without the body', async () => {
    await start((exchange) => exchange.respond(200, '', 'twelve bytes'));
    const client = await server.client();
    client.send(`HEAD / HTTP/1.1\r\nHost: a\r\n\r\n${get('/')}`);
    expect((await client.answer({ toHead: true })).headers.get('content-length')).toBe('12');
    expect((await client.answer()).body.toString()).toBe('twelve bytes');
  });

  it.each([204, 304])('answers %i without body and length', async (status) => {
    let flushes = 0;
    await start((exchange) => {
      exchange.respond(status, '', 'dropped', () => {
        flushes += 1;
      });
    });
    const client = await server.client();
    client.send(get('/') + get('/'));
    expect((await client.answer()).headers.has('content-length')).toBe(false);
    expect((await client.answer()).status).toBe(status);
    expect(flushes).toBe(2);
  });

  it('writes text as UTF-8 and header values as latin1', async () => {
    const text = '{"label":"Käse 猫 🐈"}';
    await start((exchange) => exchange.respond(200, 'X-A: caf\xe9\r\n', text));
    const client = await server.client();
    client.send(get('/'));
    const answer = await client.answer();
    expect(answer.body.toString('utf8')).toBe(text);
    expect(answer.headers.get('x-a')).toBe('caf\xe9');
  });

  it('writes text of latin1 characters as UTF-8', async () => {
    await start((exchange) => exchange.respond(200, '', 'caf\xe9'));
    const client = await server.client();
    client.send(get('/'));
    expect((await client.answer()).body.toString('utf8')).toBe('caf\xe9');
  });

  it.each([
    ['empty', [0]],
    ['small', [10, 0, 3]],
    ['large', [1_000_000]],
    ['many pieces, large and small', [1, 200_000, 0, 5, 300_000, 0]],
  ])('writes binary bodies: %s', async (_name, sizes) => {
    const pieces = sizes.map((size, index) => new Uint8Array(size).fill(index + 1));
    let flushes = 0;
    await start((exchange) => {
      exchange.respond(200, '', pieces, () => {
        flushes += 1;
      });
    });
    const client = await server.client();
    client.send(get('/'));
    expect((await client.answer()).body.equals(Buffer.concat(pieces))).toBe(true);
    client.send(get('/'));
    expect((await client.answer()).body.equals(Buffer.concat(pieces))).toBe(true);
    await until(() => flushes === 2);
  });

  it('ends its connections while draining', async () => {
    await start(echo);
    const client = await server.client();
    client.send(get('/a'));
    await client.answer();
    server.draining = true;
    client.send(get('/b'));
    expect((await client.answer()).headers.get('connection')).toBe('close');
    await client.end();
  });

  it('refuses connections over the limit with 503 and counts them', async () => {
    await start(echo, { maxConnections: 2 });
    const clients = [await server.client(), await server.client()];
    for (const client of clients) {
      client.send(get('/'));
      await client.answer();
    }
    const third = await server.client();
    third.send(get('/'));
    const answer = await third.answer();
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(answer.headers.get('connection')).toBe('close');
    expect(JSON.parse(answer.body.toString())).toMatchObject({ code: 'OVERLOADED', status: 503 });
    await third.end();
    expect(server.http.counters).toMatchObject({ open: 2, accepted: 2, refused: 1 });
    clients[0]?.destroy();
    await until(() => server.http.counters.open === 1);
    const fourth = await server.client();
    fourth.send(get('/'));
    expect((await fourth.answer()).status).toBe(200);
  });

  it('closes idle connections at once and busy ones with their answer', async () => {
    let busy: Exchange | undefined;
    await start((exchange) => {
      if (exchange.head.path === '/busy') busy = exchange;
      else exchange.respond(200, '', '');
    });
    const idle = await server.client();
    idle.send(get('/'));
    await idle.answer();
    const working = await server.client();
    working.send(get('/busy'));
    await until(() => busy !== undefined);
    let isClosed = false;
    const closed = server.http.close(60_000).then(() => {
      isClosed = true;
    });
    await idle.end();
    idle.destroy();
    await until(() => server.http.counters.open === 1);
    expect(isClosed).toBe(false);
    busy?.respond(200, '', 'done');
    const answer = await working.answer();
    expect(answer.headers.get('connection')).toBe('close');
    await working.end();
    working.socket.end();
    await closed;
    await expect(server.client()).rejects.toThrow('ECONNREFUSED');
  });

  it('cuts busy connections off when the grace is over', async () => {
    let busy: Exchange | undefined;
    let aborts = 0;
    await start((exchange) => {
      busy = exchange;
      exchange.onAbort(() => {
        aborts += 1;
      });
    });
    const client = await server.client();
    client.send(get('/'));
    await until(() => busy !== undefined);
    const closed = server.http.close(1000);
    server.pass(900);
    expect(busy?.closed).toBe(false);
    server.pass(200);
    await closed;
    expect(busy?.closed).toBe(true);
    expect(aborts).toBe(1);
    await client.end();
  });

  it('rejects when the port is taken', async () => {
    await start(echo);
    await expect(aServer(echo, {}, server.port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('asserts that a request is answered once', async () => {
    const errors: unknown[] = [];
    await start((exchange) => {
      exchange.respond(200, '', 'a');
      try {
        exchange.respond(200, '', 'b');
      } catch (error) {
        errors.push(error);
      }
    });
    const client = await server.client();
    client.send(get('/'));
    expect((await client.answer()).body.toString()).toBe('a');
    expect(errors).toHaveLength(1);
    expect(client.received.length).toBe(0);
  });
});
