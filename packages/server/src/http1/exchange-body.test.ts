import type { GimbalError } from '@gimbal/core';
import { afterEach, describe, expect, it } from 'vitest';
import type { BodySink, Exchange, HttpLimits } from './exchange.ts';
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

const head = (length: number | string, headers = '') =>
  `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n${headers}\r\n`;
const CHUNKED = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
const GET = 'GET /next HTTP/1.1\r\nHost: a\r\n\r\n';

/** Remembers what it is told. */
class Notes implements BodySink {
  bytes = Buffer.alloc(0);
  ends = 0;
  readonly errors: GimbalError[] = [];

  chunk(bytes: Uint8Array): void {
    this.bytes = Buffer.concat([this.bytes, bytes]);
  }

  end(): void {
    this.ends += 1;
  }

  fail(error: GimbalError): void {
    this.errors.push(error);
  }
}

describe('Exchange', () => {
  it('gives a body of one piece without copying it', async () => {
    const buffers = new Set<ArrayBufferLike>();
    await start((exchange) => {
      exchange.readBody(
        1000,
        (body) => {
          buffers.add(body.buffer);
          exchange.respond(200, '', '');
        },
        () => {},
      );
    });
    const client = await server.client();
    for (let turn = 0; turn < 3; turn += 1) {
      client.send(`${head(4)}body`);
      await client.answer();
    }
    expect(buffers.size).toBe(1);
    expect([...buffers][0]?.byteLength).toBeGreaterThan(64 * 1024);
  });

  it.each([1000, 100_000, 3_000_000])('gives a body of %i bytes whole and as a stream', async (length) => {
    const body = Buffer.from(Array.from({ length }, (_, index) => (index * 7 + (index >> 8)) & 0xff));
    const whole: Buffer[] = [];
    const notes = new Notes();
    await start((exchange) => {
      const onBody = (bytes: Uint8Array) => {
        whole.push(Buffer.from(bytes));
        exchange.respond(200, '', '');
      };
      if (whole.length === 0) exchange.readBody(length, onBody, () => {});
      else {
        exchange.streamBody(length, {
          chunk: (bytes) => notes.chunk(bytes),
          end: () => {
            notes.end();
            exchange.respond(200, '', '');
          },
          fail: (error) => notes.fail(error),
        });
      }
    });
    const client = await server.client();
    for (let turn = 0; turn < 2; turn += 1) {
      client.send(head(length));
      client.send(body);
      await client.answer();
    }
    expect(whole[0]?.equals(body)).toBe(true);
    expect(notes.bytes.equals(body)).toBe(true);
    expect(notes.ends).toBe(1);
  });

  it('waits with a body until it is asked for, and holds little of it', async () => {
    let exchange: Exchange | undefined;
    await start((given) => {
      exchange = given;
    });
    const client = await server.client();
    const body = Buffer.alloc(20_000_000, 'x');
    client.send(head(body.length));
    client.send(body);
    await until(() => exchange !== undefined);
    await settled(() => server.http.counters.receivedBytes);
    expect(server.http.counters.receivedBytes).toBeLessThan(1024 * 1024);
    let length = 0;
    exchange?.streamBody(body.length, {
      chunk: (bytes) => {
        length += bytes.length;
      },
      end: () => exchange?.respond(200, '', `${length}`),
      fail: () => {},
    });
    expect((await client.answer()).body.toString()).toBe('20000000');
  });

  it('gives an empty body that is asked for late', async () => {
    let exchange: Exchange | undefined;
    await start((given) => {
      exchange = given;
    });
    const client = await server.client();
    client.send(GET);
    await until(() => exchange !== undefined);
    exchange?.readBody(
      10,
      (body) => exchange?.respond(200, '', `${body.length}`),
      () => {},
    );
    expect((await client.answer()).body.toString()).toBe('0');
  });

  it.each([
    ['sized', `${head(11)}hello world`],
    ['chunked', `${CHUNKED}6\r\nhello \r\n5\r\nworld\r\n0\r\n\r\n`],
  ])('fails a %s body over the limit, and not one byte too early', async (_name, request) => {
    for (const [limitBytes, status] of [
      [11, 200],
      [10, 413],
    ] as const) {
      const codes: string[] = [];
      await start((exchange) => {
        exchange.readBody(
          limitBytes,
          () => exchange.respond(200, '', ''),
          (error) => {
            codes.push(error.code);
            exchange.respond(error.row.http, '', '');
          },
        );
      });
      const client = await server.client();
      client.send(request);
      expect((await client.answer()).status).toBe(status);
      expect(codes).toEqual(status === 413 ? ['INPUT_TOO_LARGE'] : []);
      await server.stop();
    }
  });

  it('skips a short body that nobody asked for, and keeps the connection', async () => {
    await start((exchange) => exchange.respond(exchange.head.path === '/' ? 404 : 200, '', ''));
    const client = await server.client();
    const body = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n';
    client.send(head(body.length));
    const first = await client.answer();
    expect(first.status).toBe(404);
    expect(first.headers.get('connection')).toBeUndefined();
    client.send(body + GET);
    expect((await client.answer()).status).toBe(200);
    expect(server.http.counters.requests).toBe(2);
  });

  it('skips a short body that was too large', async () => {
    await start((exchange) => {
      if (exchange.head.path === '/next') exchange.respond(200, '', '');
      else
        exchange.readBody(
          5,
          () => {},
          (error) => exchange.respond(error.row.http, '', ''),
        );
    });
    const client = await server.client();
    client.send(`${head(11)}hello world${GET}`);
    expect((await client.answer()).status).toBe(413);
    expect((await client.answer()).status).toBe(200);
  });

  it('closes when the rest of a chunked body was not wanted', async () => {
    await start((exchange) => exchange.respond(404, '', ''));
    const client = await server.client();
    client.send(`${CHUNKED}1\r\nx\r\n`);
    expect((await client.answer()).headers.get('connection')).toBe('close');
    await client.end();
  });

  it('answers a malformed chunked body by its sink, and closes', async () => {
    await start(echo);
    const client = await server.client();
    client.send(`${CHUNKED}1\r\nxy\r\n${GET}`);
    const answer = await client.answer();
    expect(answer.status).toBe(400);
    expect(answer.body.toString()).toMatch(/^MALFORMED_REQUEST: Cannot read the request: a chunk/);
    expect(answer.headers.get('connection')).toBe('close');
    await client.end();
    expect(server.http.counters.requests).toBe(1);
  });

  it('sends 100 Continue when the body is asked for, not before', async () => {
    let exchange: Exchange | undefined;
    await start((given) => {
      exchange = given;
    });
    const client = await server.client();
    client.send(head(4, 'Expect: 100-continue\r\n'));
    await until(() => exchange !== undefined);
    expect(client.received.length).toBe(0);
    if (exchange) echo(exchange);
    expect((await client.answer()).status).toBe(100);
    client.send(`body${GET}`);
    expect((await client.answer()).body.toString()).toBe('POST /? body');
  });

  it('refuses before 100 Continue, and closes: nobody knows whether the body comes', async () => {
    await start((exchange) =>
      exchange.readBody(
        3,
        () => {},
        (error) => exchange.respond(error.row.http, '', ''),
      ),
    );
    const client = await server.client();
    client.send(head(4, 'Expect: 100-continue\r\n'));
    const answer = await client.answer();
    expect([answer.status, answer.headers.get('connection')]).toEqual([413, 'close']);
    await client.end();
  });

  it('tells a sink and the abort listener that the client went away, once each', async () => {
    const notes = new Notes();
    let aborts = 0;
    let exchange: Exchange | undefined;
    await start((given) => {
      exchange = given;
      given.onAbort(() => {
        aborts += 1;
      });
      given.streamBody(1000, notes);
    });
    const client = await server.client();
    client.send(`${head(10)}hello`);
    await until(() => notes.bytes.length === 5);
    client.destroy();
    await until(() => server.http.counters.open === 0);
    expect(notes.errors.map(({ code }) => code)).toEqual(['CANCELLED']);
    expect([notes.ends, aborts, exchange?.closed]).toEqual([0, 1, true]);
  });

  it.each(['end', 'destroy', 'resetAndDestroy'] as const)(
    'tells of a client that goes away by %s before its answer; an answer then only returns its memory',
    async (way) => {
      let aborts = 0;
      let exchange: Exchange | undefined;
      await start((given) => {
        exchange = given;
        given.onAbort(() => {
          aborts += 1;
        });
      });
      const client = await server.client();
      client.send(GET);
      await until(() => exchange !== undefined);
      client.socket[way]();
      await until(() => aborts === 1);
      expect(exchange?.closed).toBe(true);
      let flushes = 0;
      exchange?.respond(200, '', new Uint8Array(100_000), () => {
        flushes += 1;
      });
      expect(flushes).toBe(1);
      const codes: string[] = [];
      exchange?.readBody(
        1,
        () => {},
        (error) => codes.push(error.code),
      );
      expect(codes).toEqual(['CANCELLED']);
      await until(() => server.http.counters.open === 0);
      expect(aborts).toBe(1);
    },
  );

  it('calls an abort listener that comes too late', async () => {
    let exchange: Exchange | undefined;
    await start((given) => {
      exchange = given;
    });
    const client = await server.client();
    client.send(GET);
    await until(() => exchange !== undefined);
    client.destroy();
    await until(() => exchange?.closed === true);
    let aborts = 0;
    exchange?.onAbort(() => {
      aborts += 1;
    });
    expect(aborts).toBe(1);
  });

  it('returns lent memory once when the client goes away in the middle of an answer', async () => {
    let flushes = 0;
    let aborts = 0;
    await start((exchange) => {
      exchange.onAbort(() => {
        aborts += 1;
      });
      exchange.respond(200, '', [new Uint8Array(20_000_000), new Uint8Array(20_000_000)], () => {
        flushes += 1;
      });
    });
    const client = await server.client();
    client.socket.pause();
    client.send(GET);
    await until(() => server.http.counters.requests === 1);
    await settled(() => flushes);
    expect(flushes).toBe(0);
    client.destroy();
    await until(() => server.http.counters.open === 0);
    expect([flushes, aborts]).toEqual([1, 0]);
  });

  it('lends large bodies until the kernel has taken them', async () => {
    const body = new Uint8Array(10_000_000).fill(1);
    let isFlushed = false;
    await start((exchange) => {
      exchange.respond(200, '', body, () => {
        isFlushed = true;
        body.fill(2);
      });
    });
    const client = await server.client();
    client.socket.pause();
    client.send(GET);
    await until(() => server.http.counters.requests === 1);
    await settled(() => Number(isFlushed));
    expect(isFlushed).toBe(false);
    client.socket.resume();
    const answer = await client.answer();
    expect(answer.body.every((byte) => byte === 1)).toBe(true);
    await until(() => isFlushed);
  });
});
