import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonText } from './json-text.ts';

/** The text as an independent reader understands it. */
function parsed(bytes: Uint8Array): unknown {
  return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
}

const texts = fc.string({ unit: 'binary', maxLength: 300 });
const escaped = fc.string({
  unit: fc.constantFrom('"', '\\', '\n', '\r', '\t', '\b', '\0', '\x1f', '\x7f', '/', 'a', 'é', '\u2028'),
});

function written(write: (text: JsonText) => void): Uint8Array {
  const text = new JsonText();
  text.begin();
  write(text);
  return text.finish();
}

describe('JsonText', () => {
  it('writes any string so that it comes back, lone surrogates as U+FFFD', () => {
    fc.assert(
      fc.property(fc.oneof(texts, escaped), (value) => {
        expect(parsed(written((text) => text.string(value)))).toBe(value.toWellFormed());
        const utf8 = new TextEncoder().encode(value);
        expect(parsed(written((text) => text.utf8String(utf8)))).toBe(value.toWellFormed());
      }),
      { numRuns: 1000 },
    );
  });

  it('writes any finite number so that it comes back', () => {
    const doubles = fc.double({ noNaN: true, noDefaultInfinity: true });
    const floats = fc.float({ noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(doubles, floats, fc.maxSafeInteger(), (double, float, integer) => {
        const plain = (value: number): number => (Object.is(value, -0) ? 0 : value);
        const back = (write: (text: JsonText) => void): number => plain(parsed(written(write)) as number);
        expect(back((text) => text.float64(double))).toBe(plain(double));
        expect(Math.fround(back((text) => text.float32(float)))).toBe(plain(float));
        expect(back((text) => text.integer(integer))).toBe(plain(integer));
      }),
      { numRuns: 1000 },
    );
  });

  it('gives texts that stay as they are, however many and long the ones after them', () => {
    const lengths = fc.oneof(fc.nat(100), fc.nat(5000), fc.constantFrom(65_534, 65_536, 70_000, 200_000));
    fc.assert(
      fc.property(fc.array(lengths, { maxLength: 30 }), (sizes) => {
        const text = new JsonText();
        const views = sizes.map((size, index) => {
          text.begin();
          text.ascii('{"s":');
          text.string(String.fromCharCode(97 + (index % 26)).repeat(size));
          text.character(0x7d);
          expect(text.length).toBe(size + 8);
          return text.finish();
        });
        for (const [index, view] of views.entries()) {
          const letter = String.fromCharCode(97 + (index % 26));
          const whole = `{"s":"${letter.repeat(sizes[index] ?? 0)}"}`;
          expect(Buffer.from(view).toString() === whole).toBe(true);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('takes JSON that was rendered before, of any length', () => {
    for (const length of [0, 1, 47, 48, 49, 100_000]) {
      const json = Buffer.from(`"${'x'.repeat(length)}"`);
      const bytes = written((text) => {
        text.character(0x5b);
        text.raw(json);
        text.ascii(',1]');
      });
      expect(parsed(bytes)).toEqual(['x'.repeat(length), 1]);
    }
  });

  it('forgets a text that was begun and not finished', () => {
    const text = new JsonText();
    text.begin();
    text.ascii('{"half":');
    text.begin();
    text.ascii('1');
    expect(parsed(text.finish())).toBe(1);
  });
});
