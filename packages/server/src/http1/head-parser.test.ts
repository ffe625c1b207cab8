import { describe, expect, it } from 'vitest';
import { HeadParser } from './head-parser.ts';
import type { HttpHead } from './http-head.ts';
import { TEST_LIMITS } from './testing/test-server.ts';

const HOST = 'Host: a\r\n';

function parse(text: string, limits = TEST_LIMITS) {
  const bytes = Buffer.from(text, 'latin1');
  const window = { bytes, at: 0, end: bytes.length };
  const parser = new HeadParser(limits);
  const outcome = parser.advance(window);
  return { parser, outcome, at: window.at };
}

function accepted(text: string): HttpHead {
  const { parser, outcome } = parse(text);
  if (outcome === 'refused') throw parser.refusal.error;
  expect(outcome).toBe('done');
  return parser.head;
}

function refused(text: string, limits = TEST_LIMITS): { status: number; code: string; message: string } {
  const { parser, outcome } = parse(text, limits);
  expect(outcome).toBe('refused');
  const { status, error } = parser.refusal;
  return { status, code: error.code, message: error.message };
}

describe('HeadParser', () => {
  it('reads method, path, query and headers, and stops behind the head', () => {
    const text = `POST /v2/models/m/infer?a=1&b=%20 HTTP/1.1\r\n${HOST}Content-Length: 5\r\nX-Odd-Name:  two words\t\r\n\r\n`;
    const { parser, outcome, at } = parse(`${text}hello`);
    expect(outcome).toBe('done');
    expect(at).toBe(text.length);
    const { head } = parser;
    expect(head.method).toBe('POST');
    expect(head.path).toBe('/v2/models/m/infer');
    expect(head.query).toBe('a=1&b=%20');
    expect(head.contentLength).toBe(5);
    expect(head.header('host')).toBe('a');
    expect(head.header('x-odd-name')).toBe('two words');
    expect(head.header('x-missing')).toBeUndefined();
    expect([...head.headers()]).toEqual([
      ['host', 'a'],
      ['content-length', '5'],
      ['x-odd-name', 'two words'],
    ]);
  });

  it('knows header names whatever their case, and joins those that come twice', () => {
    const head = accepted(
      `GET / HTTP/1.1\r\nHOST: a\r\nx-REQUEST-id: 1\r\nX-Mine: b\r\nX-Request-Id: 2\r\nx-mine: c\r\n\r\n`,
    );
    expect(head.header('x-request-id')).toBe('1, 2');
    expect(head.header('x-mine')).toBe('b, c');
    expect(head.headers().get('x-mine')).toBe('b, c');
  });

  it('keeps obs-text of a value as latin1, and empty values', () => {
    const head = accepted(`GET / HTTP/1.1\r\n${HOST}X-A: caf\xe9\r\nX-B:\r\nX-C: \t \r\n\r\n`);
    expect(head.header('x-a')).toBe('caf\xe9');
    expect(head.header('x-b')).toBe('');
    expect(head.header('x-c')).toBe('');
  });

  it.each([
    ['GET /a?b?c HTTP/1.1', '/a', 'b?c'],
    ['GET /? HTTP/1.1', '/', ''],
    ['GET //a/../b HTTP/1.1', '//a/../b', ''],
    ['GET http://host:80/a?b HTTP/1.1', '/a', 'b'],
    ['GET HTTPS://host HTTP/1.1', '/', ''],
    ['GET http://host?b HTTP/1.1', '/', 'b'],
    ['OPTIONS * HTTP/1.1', '*', ''],
  ])('reads the target of %s', (line, path, query) => {
    const head = accepted(`${line}\r\n${HOST}\r\n`);
    expect({ path: head.path, query: head.query }).toEqual({ path, query });
  });

  it('tells whether the connection is to be kept', () => {
    const keeps = (version: string, connection: string) =>
      accepted(`GET / HTTP/${version}\r\n${HOST}${connection}\r\n`).keepAlive;
    expect(keeps('1.1', '')).toBe(true);
    expect(keeps('1.1', 'Connection: Close\r\n')).toBe(false);
    expect(keeps('1.1', 'Connection: upgrade, CLOSE\r\n')).toBe(false);
    expect(keeps('1.1', 'Connection: keep-alive\r\nConnection: close\r\n')).toBe(false);
    expect(keeps('1.1', 'Connection: closed\r\n')).toBe(true);
    expect(keeps('1.0', '')).toBe(false);
    expect(keeps('1.0', 'Connection: Keep-Alive\r\n')).toBe(true);
    expect(keeps('1.0', 'Connection: TE, keep-alive\r\n')).toBe(true);
  });

  it('tells the body from the headers', () => {
    expect(accepted(`GET / HTTP/1.1\r\n${HOST}\r\n`).contentLength).toBe(0);
    expect(accepted(`POST / HTTP/1.1\r\n${HOST}Content-Length: 007\r\n\r\n`).contentLength).toBe(7);
    expect(accepted(`POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: Chunked\r\n\r\n`).contentLength).toBe(
      undefined,
    );
    expect(accepted(`POST / HTTP/1.1\r\n${HOST}Expect: 100-Continue\r\n\r\n`).expectsContinue).toBe(true);
    expect(accepted(`POST / HTTP/1.0\r\n${HOST}Expect: 100-Continue\r\n\r\n`).expectsContinue).toBe(false);
    expect(accepted(`POST / HTTP/1.0\r\nExpect: tea\r\n\r\n`).expectsContinue).toBe(false);
  });

  it('ignores one empty line before the request, and no second', () => {
    expect(accepted(`\r\nGET /a HTTP/1.1\r\n${HOST}\r\n`).path).toBe('/a');
    expect(refused(`\r\n\r\nGET /a HTTP/1.1\r\n${HOST}\r\n`).status).toBe(400);
  });

  it('reads one head after another, without anything of the one before', () => {
    const bytes = Buffer.from(
      `POST /a HTTP/1.0\r\nContent-Length: 3\r\nConnection: close\r\n\r\nGET /b HTTP/1.1\r\n${HOST}\r\n`,
    );
    const window = { bytes, at: 0, end: bytes.length };
    const parser = new HeadParser(TEST_LIMITS);
    expect(parser.advance(window)).toBe('done');
    const first = parser.head;
    expect(parser.advance(window)).toBe('done');
    const second = parser.head;
    expect(second).toMatchObject({
      method: 'GET',
      path: '/b',
      contentLength: 0,
      keepAlive: true,
      isHttp10: false,
    });
    expect(second.header('content-length')).toBeUndefined();
    expect(first).toMatchObject({ method: 'POST', path: '/a', contentLength: 3, keepAlive: false });
    expect(first.header('content-length')).toBe('3');
  });

  it('keeps a head whole when the receive buffer is reused', () => {
    const bytes = Buffer.from(`GET /path HTTP/1.1\r\n${HOST}X-Thing: value\r\n\r\n`);
    const parser = new HeadParser(TEST_LIMITS);
    parser.advance({ bytes, at: 0, end: bytes.length });
    const { head } = parser;
    bytes.fill(0);
    expect([head.path, head.header('x-thing')]).toEqual(['/path', 'value']);
  });

  describe('refuses', () => {
    const line = 'POST / HTTP/1.1\r\n';
    it.each([
      ['a bare LF after the request line', `POST / HTTP/1.1\n${HOST}\r\n`],
      ['a bare LF after a header', `${line}Host: a\n\r\n`],
      ['a bare LF as the empty line', `${line}${HOST}\n`],
      ['a bare CR in a value', `${line}${HOST}X: a\rb\r\n\r\n`],
      ['a bare CR before the empty line', `${line}${HOST}\r\r\n`],
      ['a bare LF before the request', `\nGET / HTTP/1.1\r\n${HOST}\r\n`],
      ['a folded line', `${line}${HOST}X: a\r\n b\r\n\r\n`],
      ['white space before the first header', `${line} ${HOST}\r\n`],
      ['a space before the colon', `${line}Host : a\r\n\r\n`],
      ['a tab before the colon', `${line}Host\t: a\r\n\r\n`],
      ['an empty name', `${line}${HOST}: a\r\n\r\n`],
      ['a line without a colon', `${line}${HOST}X\r\n\r\n`],
      ['a name with a control character', `${line}${HOST}X\x00: a\r\n\r\n`],
      ['a name past ASCII', `${line}${HOST}X\xe9: a\r\n\r\n`],
      ['a NUL in a value', `${line}${HOST}X: a\x00b\r\n\r\n`],
      ['a DEL in a value', `${line}${HOST}X: a\x7fb\r\n\r\n`],
      ['a missing Host', `${line}\r\n`],
      ['Host twice', `${line}${HOST}${HOST}\r\n`],
      ['Host twice in HTTP/1.0', `GET / HTTP/1.0\r\n${HOST}${HOST}\r\n`],
      ['a Host list', `${line}Host: a, b\r\n\r\n`],
      ['a Host with a path', `${line}Host: a/b\r\n\r\n`],
      ['a Host with user', `${line}Host: a@b\r\n\r\n`],
      [
        'Content-Length with Transfer-Encoding',
        `${line}${HOST}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n`,
      ],
      [
        'Transfer-Encoding with Content-Length',
        `${line}${HOST}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n`,
      ],
      ['two Content-Lengths', `${line}${HOST}Content-Length: 3\r\nContent-Length: 4\r\n\r\n`],
      ['two equal Content-Lengths', `${line}${HOST}Content-Length: 3\r\nContent-Length: 3\r\n\r\n`],
      ['a Content-Length list', `${line}${HOST}Content-Length: 3, 3\r\n\r\n`],
      ['a signed Content-Length', `${line}${HOST}Content-Length: +3\r\n\r\n`],
      ['a negative Content-Length', `${line}${HOST}Content-Length: -3\r\n\r\n`],
      ['a hexadecimal Content-Length', `${line}${HOST}Content-Length: 0x3\r\n\r\n`],
      ['a Content-Length with a space', `${line}${HOST}Content-Length: 3 3\r\n\r\n`],
      ['a Content-Length in other digits', `${line}${HOST}Content-Length: \xb2\r\n\r\n`],
      ['an empty Content-Length', `${line}${HOST}Content-Length:\r\n\r\n`],
      ['a second coding', `${line}${HOST}Transfer-Encoding: gzip, chunked\r\n\r\n`],
      ['another coding', `${line}${HOST}Transfer-Encoding: identity\r\n\r\n`],
      ['chunked twice in one', `${line}${HOST}Transfer-Encoding: chunked, chunked\r\n\r\n`],
      [
        'chunked twice in two',
        `${line}${HOST}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n`,
      ],
      ['a coding like chunked', `${line}${HOST}Transfer-Encoding: xchunked\r\n\r\n`],
      ['a quoted chunked', `${line}${HOST}Transfer-Encoding: "chunked"\r\n\r\n`],
      ['chunked with a parameter', `${line}${HOST}Transfer-Encoding: chunked;q=1\r\n\r\n`],
      ['chunked and a tab', `${line}${HOST}Transfer-Encoding: chunked\t\r\n\r\n`],
      ['a tab and chunked', `${line}${HOST}Transfer-Encoding:\tchunked\r\n\r\n`],
      ['an empty coding', `${line}${HOST}Transfer-Encoding:\r\n\r\n`],
      ['chunked in HTTP/1.0', `POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n`],
      ['no version', `GET /\r\n\r\n`],
      ['a lower-case version', `GET / http/1.1\r\n${HOST}\r\n`],
      ['a version with more digits', `GET / HTTP/1.11\r\n${HOST}\r\n`],
      ['two spaces before the target', `GET  / HTTP/1.1\r\n${HOST}\r\n`],
      ['two spaces behind the target', `GET /  HTTP/1.1\r\n${HOST}\r\n`],
      ['a space at the end of the line', `GET / HTTP/1.1 \r\n${HOST}\r\n`],
      ['a leading space', ` GET / HTTP/1.1\r\n${HOST}\r\n`],
      ['a method with a bad character', `G@T / HTTP/1.1\r\n${HOST}\r\n`],
      ['a method with a tab', `GET\t/ HTTP/1.1\r\n${HOST}\r\n`],
      ['an endless method', `${'A'.repeat(40)} / HTTP/1.1\r\n${HOST}\r\n`],
      ['a relative target', `GET a HTTP/1.1\r\n${HOST}\r\n`],
      ['an authority', `CONNECT a:80 HTTP/1.1\r\n${HOST}\r\n`],
      ['a URL without a host', `GET http:/// HTTP/1.1\r\n${HOST}\r\n`],
      ['a URL with a user', `GET http://a@b/ HTTP/1.1\r\n${HOST}\r\n`],
      ['a URL whose host is none', `GET http://>/ HTTP/1.1\r\n${HOST}\r\n`],
      ['another scheme', `GET ftp://a/ HTTP/1.1\r\n${HOST}\r\n`],
      ['* of other methods', `GET * HTTP/1.1\r\n${HOST}\r\n`],
      ['a fragment', `GET /#a HTTP/1.1\r\n${HOST}\r\n`],
      ['a target past ASCII', `GET /\xe9 HTTP/1.1\r\n${HOST}\r\n`],
      ['a NUL in the target', `GET /\x00 HTTP/1.1\r\n${HOST}\r\n`],
      ['TLS', '\x16\x03\x01\x02\x00\x01\x00'],
      ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505],
      ['HTTP/1.2', `GET / HTTP/1.2\r\n${HOST}\r\n`, 505],
      ['other expectations', `${line}${HOST}Expect: tea\r\n\r\n`, 417],
      ['an expectation list', `${line}${HOST}Expect: 100-continue, tea\r\n\r\n`, 417],
    ] as [string, string, number?][])('%s', (_name, text, status = 400) => {
      const refusal = refused(text);
      expect(refusal).toMatchObject({ status, code: 'MALFORMED_REQUEST' });
      expect(refusal.message).toMatch(/^Cannot read the request: /);
    });

    it('a Content-Length beyond all limits as too large', () => {
      const text = `POST / HTTP/1.1\r\n${HOST}Content-Length: ${'9'.repeat(16)}\r\n\r\n`;
      expect(refused(text)).toMatchObject({ status: 413, code: 'INPUT_TOO_LARGE' });
    });

    it('too many headers with 431, and not one too few', () => {
      const limits = { ...TEST_LIMITS, maxHeaders: 3 };
      const text = (count: number) => `GET / HTTP/1.1\r\n${HOST}${'X: a\r\n'.repeat(count - 1)}\r\n`;
      expect(parse(text(3), limits).outcome).toBe('done');
      expect(refused(text(4), limits).status).toBe(431);
    });

    it('a head over the limit with 431, and not one byte too early', () => {
      const limits = { ...TEST_LIMITS, maxHeadBytes: 100 };
      const text = (length: number) => {
        const rest = `GET / HTTP/1.1\r\n${HOST}X: \r\n\r\n`;
        return rest.replace('X: ', `X: ${'a'.repeat(length - rest.length)}`);
      };
      expect(text(100).length).toBe(100);
      expect(parse(text(100), limits).outcome).toBe('done');
      expect(refused(text(101), limits).status).toBe(431);
      expect(refused(`GET / HTTP/1.1\r\nX: ${'a'.repeat(1000)}`, limits).status).toBe(431);
    });

    it('a target over the limit with 414, and not one byte too early', () => {
      const text = (length: number) => `GET /${'a'.repeat(length - 1)} HTTP/1.1\r\n${HOST}\r\n`;
      expect(parse(text(8192)).outcome).toBe('done');
      expect(refused(text(8193)).status).toBe(414);
    });
  });
});
