import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonPointerAt, pointerSegment } from './json-pointer.ts';

/** Names that JSON does not escape but pointers may. */
const keys = fc.string({
  unit: fc.constantFrom('a', 'é', '😀', '~', '/', ' ', '{', ']', ',', ':', '0'),
  maxLength: 12,
});
const spaces = fc.constantFrom('', ' ', '\n', '\t ');

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<Json>(null, true, 7, -1.5e3, '', 'x,y:{}[]', 'quoted "\\"'),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(keys, tie('json'), { maxKeys: 4 }),
  ),
}));

/** Writes a value and notes, for every value in it, where it begins and what its pointer is (RFC 6901). */
class Writer {
  text = '';
  readonly places: { readonly at: number; readonly pointer: string }[] = [];
  readonly #space: string;

  constructor(space: string) {
    this.#space = space;
  }

  value(value: Json, pointer: string): void {
    this.text += this.#space;
    this.places.push({ at: Buffer.byteLength(this.text), pointer });
    if (Array.isArray(value)) {
      this.#list('[]', value.length, (index) => this.value(value[index] as Json, `${pointer}/${index}`));
    } else if (typeof value === 'object' && value !== null) {
      const members = Object.entries(value);
      this.#list('{}', members.length, (index) => {
        const [key, inner] = members[index] as [string, Json];
        const segment = key.split('~').join('~0').split('/').join('~1');
        this.text += `${this.#space}${JSON.stringify(key)}${this.#space}:`;
        this.value(inner, `${pointer}/${segment}`);
      });
    } else this.text += JSON.stringify(value);
    this.text += this.#space;
  }

  #list(brackets: string, count: number, write: (index: number) => void): void {
    this.text += brackets.charAt(0);
    for (let index = 0; index < count; index += 1) {
      if (index > 0) this.text += ',';
      write(index);
    }
    this.text += this.#space + brackets.charAt(1);
  }
}

describe('jsonPointerAt', () => {
  it('names every value of any document', () => {
    fc.assert(
      fc.property(json, spaces, (value, space) => {
        const writer = new Writer(space);
        writer.value(value, '');
        const bytes = Buffer.from(writer.text);
        expect(JSON.parse(writer.text)).toEqual(value);
        for (const { at, pointer } of writer.places) expect(jsonPointerAt(bytes, at)).toBe(pointer);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['{"a":[1,{"b":x', 13, '/a/1/b'],
    ['[1,2', 4, '/1'],
    ['{"a":1,', 7, ''],
    ['{"a":"cut off', 13, '/a'],
    ['', 0, ''],
    [']]]}', 4, ''],
  ])('is of help in the broken text %j too', (text, at, pointer) => {
    expect(jsonPointerAt(Buffer.from(text), at)).toBe(pointer);
  });

  it('cuts long names off: pointers are for people', () => {
    const key = 'k'.repeat(1000);
    const text = `{"${key}":1}`;
    expect(jsonPointerAt(Buffer.from(text), text.length - 2)).toBe(`/${'k'.repeat(64)}…`);
  });

  it('bears any bytes at any place', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.nat(70), (bytes, at) => {
        expect(typeof jsonPointerAt(bytes, at)).toBe('string');
      }),
    );
  });
});

describe('pointerSegment', () => {
  it('escapes "~" before "/", so that each comes back as it was', () => {
    expect(pointerSegment('~1/~0')).toBe('/~01~1~00');
    expect(pointerSegment(7)).toBe('/7');
    fc.assert(
      fc.property(keys, (key) => {
        const back = pointerSegment(key).slice(1).split('~1').join('/').split('~0').join('~');
        expect(back).toBe(key);
      }),
    );
  });
});
