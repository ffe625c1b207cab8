import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { asciiOf, internName, MAX_NAME_BYTES } from './interned-names.ts';

const names = fc.string({ unit: 'binary-ascii', maxLength: MAX_NAME_BYTES + 10 });

/** The name inside other bytes. */
function inside(name: string): { bytes: Uint8Array; start: number; end: number } {
  const bytes = Buffer.from(`<<${name}>>`, 'latin1');
  return { bytes, start: 2, end: 2 + name.length };
}

describe('internName', () => {
  it('gives the string of the bytes, whatever was asked for before', () => {
    fc.assert(
      fc.property(fc.array(names, { maxLength: 40 }), (asked) => {
        for (const name of [...asked, ...asked]) {
          const { bytes, start, end } = inside(name);
          expect(internName(bytes, start, end)).toBe(name);
        }
      }),
    );
  });

  it('stays right when there are more names than slots', () => {
    const all = Array.from({ length: 5000 }, (_, index) => `name-${index}`);
    for (let turn = 0; turn < 2; turn += 1) {
      for (const name of all) {
        const { bytes, start, end } = inside(name);
        if (internName(bytes, start, end) !== name) expect(internName(bytes, start, end)).toBe(name);
      }
    }
  });

  it('tells apart names that differ in their last byte, and the beginning of a longer one', () => {
    const read = (name: string): string => {
      const { bytes, start, end } = inside(name);
      return internName(bytes, start, end);
    };
    expect(['INPUT0', 'INPUT1', 'INPUT', 'INPUT0', ''].map(read)).toEqual([
      'INPUT0',
      'INPUT1',
      'INPUT',
      'INPUT0',
      '',
    ]);
  });
});

describe('asciiOf', () => {
  it('reads any length, also past what a call can take', () => {
    for (const length of [0, 1, 4095, 4096, 4097, 200_000]) {
      const text = Array.from({ length }, (_, index) => String.fromCharCode(32 + (index % 90))).join('');
      const { bytes, start, end } = inside(text);
      expect(asciiOf(bytes, start, end) === text).toBe(true);
    }
  });
});
