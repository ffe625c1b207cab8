import { createServer, METHODS } from 'node:http';
import { Duplex } from 'node:stream';
import { randomInteger, SeededRandom } from '@gimbal/core';
import { afterAll, describe, expect, it } from 'vitest';
import { BodyIntake } from './body-intake.ts';
import { BodyMemory } from './body-memory.ts';
import { HeadParser } from './head-parser.ts';
import { TEST_LIMITS } from './testing/test-server.ts';

const SEED = 20_251;
const CASES = 6000;

interface ReadRequest {
  readonly method: string;
  readonly target: string;
  readonly body: string;
}

const SAMPLES = [
  'GET /a?b=c HTTP/1.1\r\nHost: h\r\n\r\n',
  'POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello',
  'POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5;e=f\r\nhello\r\n1\r\n!\r\n0\r\nT: v\r\n\r\n',
  'PUT http://h/p?q HTTP/1.1\r\nHost: h\r\nConnection: keep-alive\r\nContent-Length: 10\r\n\r\n0\r\n\r\nGET /',
  'POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 40\r\n\r\nGET /inner HTTP/1.1\r\nHost: h\r\nX: y\r\n\r\n  ',
  'POST /p HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok',
];

const TAIL = 'GET /tail HTTP/1.1\r\nHost: h\r\n\r\n';

/** What is spliced in: what framing is made of. */
const FRAGMENTS = [
  '\r\n',
  '\n',
  '\r',
  ' ',
  '\t',
  ':',
  ';',
  ',',
  '0',
  '\0',
  '\x7f',
  '\xe9',
  '\r\n\r\n',
  '\r\n ',
  'Content-Length: 3\r\n',
  'Content-Length: 5\r\n',
  'content-length:+5\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding : chunked\r\n',
  'Transfer-Encoding:\x0bchunked\r\n',
  'Transfer-Encoding: identity\r\n',
  'Transfer-Encoding:\r\n chunked\r\n',
  'Connection: close\r\n',
  'Host: x\r\n',
  'Expect: 100-continue\r\n',
  '0\r\n\r\n',
];

/** node:http obeys framing headers in trailers, where RFC 9110, 6.5.1 has them ignored, as they are here. */
const FRAMING_TRAILER =
  /\r\n0+(;[^\r\n]*)?\r\n([^\r\n]+\r\n)*(connection|content-length|transfer-encoding):/i;

const nodeServer = createServer({ connectionsCheckingInterval: 2 ** 30 });

afterAll(() => {
  nodeServer.closeAllConnections();
  nodeServer.close();
});

/** What this layer reads, up to the first thing that it refuses or waits for. */
function readByUs(bytes: Buffer): ReadRequest[] {
  const requests: ReadRequest[] = [];
  const parser = new HeadParser(TEST_LIMITS);
  const intake = new BodyIntake(new BodyMemory(1024 * 1024 * 1024));
  const window = { bytes, at: 0, end: bytes.length };
  while (window.at < window.end && parser.advance(window) === 'done') {
    const { head } = parser;
    let body: string | undefined;
    intake.begin(head);
    intake.askWhole(
      1_000_000,
      (given) => {
        body = Buffer.from(given).toString('latin1');
      },
      () => {},
    );
    intake.take(window);
    if (body === undefined) return requests;
    requests.push({ method: head.method, target: head.path + (head.query && `?${head.query}`), body });
    if (!head.keepAlive) return requests;
  }
  return requests;
}

/** What node:http reads of the same bytes on one connection. */
async function readByNode(bytes: Buffer): Promise<ReadRequest[]> {
  const requests: { method: string; target: string; body: string }[] = [];
  nodeServer.removeAllListeners('request');
  nodeServer.removeAllListeners('clientError');
  nodeServer.on('clientError', () => {});
  nodeServer.on('request', (request) => {
    const entry = { method: request.method ?? '', target: request.url ?? '', body: '' };
    requests.push(entry);
    request.on('data', (piece: Buffer) => {
      entry.body += piece.toString('latin1');
    });
    request.on('error', () => {});
  });
  const stream = new Duplex({ read() {}, write: (_bytes, _encoding, done) => done() });
  stream.on('error', () => {});
  nodeServer.emit('connection', stream);
  stream.push(bytes);
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  stream.destroy();
  return requests;
}

function mutated(random: SeededRandom): Buffer {
  const pick = <T>(from: readonly T[]): T =>
    from[randomInteger(random, { low: 0, high: from.length - 1 })] as T;
  let text = pick(SAMPLES) + (random.next() < 0.5 ? pick(SAMPLES) : '') + TAIL;
  for (let count = randomInteger(random, { low: 0, high: 3 }); count > 0; count -= 1) {
    const at = randomInteger(random, { low: 0, high: text.length - 1 });
    const lineStart = text.lastIndexOf('\n', at) + 1;
    const kind = random.next();
    if (kind < 0.3) text = text.slice(0, lineStart) + pick(FRAGMENTS) + text.slice(lineStart);
    else if (kind < 0.6) text = text.slice(0, at) + pick(FRAGMENTS) + text.slice(at);
    else if (kind < 0.8) text = text.slice(0, at) + text.slice(at + 1);
    else {
      const byte = String.fromCharCode(randomInteger(random, { low: 0, high: 255 }));
      text = text.slice(0, at) + byte + text.slice(at + 1);
    }
  }
  return Buffer.from(text, 'latin1');
}

describe('this layer and node:http', () => {
  it(`agree on every request that this layer accepts (seed ${SEED})`, async () => {
    const random = new SeededRandom(SEED);
    let compared = 0;
    let refused = 0;
    for (let index = 0; index < CASES; index += 1) {
      const bytes = mutated(random);
      if (FRAMING_TRAILER.test(bytes.toString('latin1'))) continue;
      const ours = readByUs(bytes);
      if (ours.at(-1)?.target !== '/tail') refused += 1;
      const nodes = await readByNode(bytes);
      for (const [at, request] of ours.entries()) {
        // node:http knows only registered methods; the router here answers others with 405.
        if (!METHODS.includes(request.method)) break;
        const theirs = nodes[at];
        const shown = JSON.stringify(bytes.toString('latin1'));
        expect(theirs && { ...theirs, target: originForm(theirs.target) }, shown).toEqual(request);
        compared += 1;
      }
    }
    expect(compared).toBeGreaterThan(CASES / 2);
    expect(refused).toBeGreaterThan(CASES / 4);
  });
});

/** The path and query of a target as node:http gives it; an empty query is none. */
function originForm(target: string): string {
  const rest = target.replace(/^https?:\/\/[^/?]*/i, '').replace(/^([^?]*)\?$/, '$1');
  return rest.startsWith('/') || rest === '*' ? rest : `/${rest}`;
}
