import { describe, expect, it } from 'vitest';
import { decodeChunks } from './testing/decode-chunks.ts';

const decode = (text: string) => decodeChunks([Buffer.from(text, 'latin1')]);

describe('ChunkedDecoder', () => {
  it.each([
    ['nothing', '0\r\n\r\n', ''],
    ['one chunk', '5\r\nhello\r\n0\r\n\r\n', 'hello'],
    ['several chunks', '3\r\nhel\r\n02\r\nlo\r\n0\r\n\r\n', 'hello'],
    [
      'hexadecimal sizes in both cases',
      'a\r\n0123456789\r\nA\r\n0123456789\r\n000\r\n\r\n',
      '01234567890123456789',
    ],
    ['extensions', '1;a;b=c;d="e f;\\"\xe9"\r\nx\r\n0;last\r\n\r\n', 'x'],
    ['trailers', '1\r\nx\r\n0\r\nChecksum: abc\r\nX-Empty:\r\n\r\n', 'x'],
    ['line ends inside a chunk', '4\r\n\r\n\r\n\r\n0\r\n\r\n', '\r\n\r\n'],
  ])('reads %s', (_name, text, payload) => {
    expect(decode(text)).toEqual({ payload, state: 'ended', left: 0 });
  });

  it('stops behind the body', () => {
    expect(decode('1\r\nx\r\n0\r\n\r\nGET /')).toEqual({ payload: 'x', state: 'ended', left: 5 });
  });

  it('waits for the rest', () => {
    expect(decode('5\r\nhel')).toEqual({ payload: 'hel', state: 'more', left: 0 });
  });

  it.each([
    ['an empty size', '\r\n'],
    ['an empty size with an extension', ';a\r\n'],
    ['a size that is no number', 'g\r\n'],
    ['a signed size', '+1\r\nx\r\n'],
    ['a negative size', '-1\r\n'],
    ['a prefixed size', '0x1\r\nx\r\n'],
    ['a space before the size', ' 1\r\nx\r\n'],
    ['a space behind the size', '1 \r\nx\r\n'],
    ['an endless size', '00000000001\r\nx\r\n'],
    ['a bare LF behind the size', '1\nx\r\n'],
    ['a bare CR behind the size', '1\rx\r\n'],
    ['a bare LF behind an extension', '1;a\nx\r\n'],
    ['an empty extension', '1;\r\nx\r\n'],
    ['an empty extension before another', '1;;a\r\nx\r\n'],
    ['an empty extension value', '1;a=\r\nx\r\n'],
    ['a space in an extension', '1; a\r\nx\r\n'],
    ['a line end in a quoted extension', '1;a="\r\nx\r\n'],
    ['bytes behind a quoted extension', '1;a="b"c\r\nx\r\n'],
    ['obs-text in an extension', '1;a=\xe9\r\nx\r\n'],
    ['a NUL in an extension', '1;\x00\r\nx\r\n'],
    ['extensions over the limit', `1;${'a'.repeat(5000)}\r\nx\r\n`],
    ['extensions over the limit in all', `1;${'a'.repeat(1000)}\r\nx\r\n`.repeat(5)],
    ['a chunk longer than its size', '1\r\nxy\r\n'],
    ['a bare LF behind a chunk', '1\r\nx\n0\r\n\r\n'],
    ['a bare LF as the end', '0\r\n\n'],
    ['a trailer without a colon', '0\r\nabc\r\n\r\n'],
    ['a folded trailer', '0\r\nA: b\r\n c\r\n\r\n'],
    ['a space before a trailer colon', '0\r\nA : b\r\n\r\n'],
    ['a control character in a trailer', '0\r\nA: \x01\r\n\r\n'],
    ['trailers over the limit', `0\r\nA: ${'b'.repeat(5000)}\r\n\r\n`],
    ['many trailers', `0\r\n${'A: b\r\n'.repeat(2000)}\r\n`],
  ])('refuses %s', (_name, text) => {
    expect(decode(text)).toMatchObject({ state: 'refused', code: 'MALFORMED_REQUEST' });
  });
});
