import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HeadParser } from './head-parser.ts';
import { HeldBytes } from './held-bytes.ts';
import { TEST_LIMITS } from './testing/test-server.ts';

const SAMPLES = [
  'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
  '\r\nPOST /v1/models/digits/predict?x=1 HTTP/1.1\r\nHost: localhost:8000\r\nUser-Agent: curl/8\r\nAccept: */*\r\ncontent-type: application/json\r\nContent-Length: 12\r\nX-Unknown-Header: \t v \xe9 \r\n\r\n{"input":[]}',
  'POST http://h/p?q HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\nConnection: a, close\r\n\r\n',
  'GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
  'GET / HTTP/1.1\nHost: a\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n',
  'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
  'GET / HTTP/3.0\r\n\r\n',
  `GET /${'a'.repeat(9000)}\x00`,
  `GET / HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(300)}\r\n\r\n`,
];

const LIMITS = { ...TEST_LIMITS, maxHeadBytes: 9000, maxHeaders: 8 };

/** Everything that a head, or its refusal, says; and how many bytes that took. */
function outcomeOf(pieces: readonly Buffer[]) {
  const parser = new HeadParser(LIMITS);
  const held = new HeldBytes();
  const window = { bytes: Buffer.alloc(0), at: 0, end: 0 };
  for (const piece of pieces) {
    held.append(piece, 0, piece.length);
    held.show(window);
    const before = window.at;
    const outcome = parser.advance(window);
    if (outcome === 'refused')
      return { refused: parser.refusal.status, message: parser.refusal.error.message };
    if (outcome === 'done') {
      const { method, path, query, contentLength, keepAlive, isHttp10, expectsContinue } = parser.head;
      const length = window.at - before;
      const headers = [...parser.head.headers()];
      return { method, path, query, contentLength, keepAlive, isHttp10, expectsContinue, headers, length };
    }
    expect(window.at).toBe(before);
  }
  return 'more';
}

describe('HeadParser', () => {
  it('gives the same outcome at every split in two, and byte by byte', () => {
    for (const sample of SAMPLES) {
      const bytes = Buffer.from(sample, 'latin1');
      const whole = outcomeOf([bytes]);
      for (let at = 1; at < Math.min(bytes.length, 400); at += 1) {
        expect(outcomeOf([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(whole);
      }
      expect(outcomeOf(Array.from(bytes, (byte) => Buffer.of(byte)))).toEqual(whole);
    }
  });

  it('gives the same outcome of damaged heads however they are split', () => {
    fc.assert(
      fc.property(damagedSample(), fc.array(fc.nat(), { maxLength: 6 }), (bytes, cuts) => {
        const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort(
          (left, right) => left - right,
        );
        const pieces = [0, ...at].map((start, index) => bytes.subarray(start, at[index] ?? bytes.length));
        expect(outcomeOf(pieces)).toEqual(outcomeOf([bytes]));
      }),
      { numRuns: 2000 },
    );
  });
});

/** A sample with a few bytes overwritten, inserted or left out. */
function damagedSample(): fc.Arbitrary<Buffer> {
  const edit = fc.record({
    at: fc.nat(),
    byte: fc.oneof(fc.constantFrom(...Buffer.from('\r\n :\t\x00/A0,;')), fc.integer({ min: 0, max: 255 })),
    kind: fc.constantFrom('set', 'insert', 'remove'),
  });
  return fc.tuple(fc.constantFrom(...SAMPLES), fc.array(edit, { maxLength: 3 })).map(([sample, edits]) => {
    const bytes = [...Buffer.from(sample, 'latin1')];
    for (const { at, byte, kind } of edits) {
      const index = at % bytes.length;
      if (kind === 'set') bytes[index] = byte;
      else if (kind === 'insert') bytes.splice(index, 0, byte);
      else bytes.splice(index, 1);
    }
    return Buffer.from(bytes);
  });
}
