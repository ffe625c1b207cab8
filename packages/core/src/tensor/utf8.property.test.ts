import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeUtf8, encodeUtf8, isUtf8, utf8SequenceLength, writeCodePoint } from './utf8.ts';

// The platform's own coders are the oracle.
const encoder = new TextEncoder();
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const lenient = new TextDecoder('utf-8', { ignoreBOM: true });

function isAccepted(bytes: Uint8Array): boolean {
  try {
    strict.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Any string, with lone surrogates. */
const anyText = fc.string({ unit: 'binary', maxLength: 200 });
const codeUnits = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 60 })
  .map((units) => String.fromCharCode(...units));
/** Bytes that are nearly UTF-8: whole sequences with some bytes changed. */
const nearlyUtf8 = fc
  .tuple(anyText, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 }))
  .map(([text, changes]) => {
    const bytes = encoder.encode(text);
    for (const [at, byte] of changes) if (bytes.length > 0) bytes[at % bytes.length] = byte;
    return bytes;
  });
const anyBytes = fc.oneof(fc.uint8Array({ maxLength: 40 }), nearlyUtf8);

describe('UTF-8', () => {
  it('is written as the platform writes it, lone surrogates as U+FFFD', () => {
    fc.assert(
      fc.property(fc.oneof(anyText, codeUnits), (text) => {
        expect(encodeUtf8(text)).toEqual(encoder.encode(text));
      }),
      { numRuns: 1000 },
    );
  });

  it('is read as the platform reads it', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const bytes = encoder.encode(text);
        expect(decodeUtf8(bytes)).toBe(strict.decode(bytes));
        expect(isUtf8(bytes)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('is recognised exactly where a strict decoder accepts it', () => {
    fc.assert(
      fc.property(anyBytes, (bytes) => {
        expect(isUtf8(bytes)).toBe(isAccepted(bytes));
      }),
      { numRuns: 5000 },
    );
  });

  it('that is broken keeps every good character and has U+FFFD in place of the rest', () => {
    fc.assert(
      fc.property(anyBytes, (bytes) => {
        const text = decodeUtf8(bytes);
        const expected = lenient.decode(bytes);
        expect(text.replaceAll('\ufffd', '')).toBe(expected.replaceAll('\ufffd', ''));
        expect(text.includes('\ufffd')).toBe(expected.includes('\ufffd'));
      }),
      { numRuns: 2000 },
    );
  });

  it('of every code point is written, measured and read back', () => {
    const room = new Uint8Array(6);
    for (let codePoint = 0; codePoint <= 0x10ffff; codePoint += codePoint < 0x1000 ? 1 : 37) {
      if (codePoint >= 0xd800 && codePoint <= 0xdfff) continue;
      const end = writeCodePoint(room, 1, codePoint);
      const text = String.fromCodePoint(codePoint);
      const length = encoder.encode(text).length;
      const seen = [end - 1, utf8SequenceLength(room, 1, end), decodeUtf8(room, 1, end)];
      if (seen[0] !== length || seen[1] !== length || seen[2] !== text)
        expect([codePoint, ...seen]).toEqual([codePoint, length, length, text]);
    }
  });

  it('is only looked at between its start and its end', () => {
    const bytes = encoder.encode('aé😀b');
    expect(decodeUtf8(bytes, 1, 3)).toBe('é');
    expect(isUtf8(bytes, 1, 7)).toBe(true);
    expect(isUtf8(bytes, 2, 7)).toBe(false);
    expect(isUtf8(bytes, 3, 6)).toBe(false);
    expect(decodeUtf8(bytes, 3, 3)).toBe('');
  });

  it('longer than one portion is read whole, wherever a pair of surrogates falls', () => {
    for (let shift = 0; shift < 4; shift += 1) {
      const text = `${'x'.repeat(4093 + shift) + '😀'.repeat(4100)}é`;
      expect(decodeUtf8(encoder.encode(text)) === text).toBe(true);
    }
  });

  it.each([
    ['an overlong two bytes', [0xc0, 0x80]],
    ['an overlong slash', [0xc1, 0xaf]],
    ['an overlong three bytes', [0xe0, 0x9f, 0xbf]],
    ['an overlong four bytes', [0xf0, 0x8f, 0xbf, 0xbf]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['past U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
    ['five bytes', [0xf8, 0x88, 0x80, 0x80, 0x80]],
    ['a lone continuation', [0x80]],
    ['a cut off sequence', [0xe2, 0x82]],
  ])('refuses %s', (_, bytes) => {
    expect(isUtf8(Uint8Array.from(bytes))).toBe(false);
    expect(utf8SequenceLength(Uint8Array.from(bytes), 0, bytes.length)).toBe(0);
  });
});
