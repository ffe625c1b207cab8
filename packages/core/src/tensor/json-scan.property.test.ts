import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isGimbalError } from '../errors/gimbal-error.ts';
import { END, JsonScan } from './json-scan.ts';

const MAX_DEPTH = 30;

/** Reads a value with the scanner as users do: by its kind. Duplicate members: the last counts, as for JSON.parse. */
function readValue(scan: JsonScan): unknown {
  switch (scan.kind()) {
    case 'object': {
      const members: [string, unknown][] = [];
      scan.openObject();
      for (let key = scan.nextKey(); key !== undefined; key = scan.nextKey())
        members.push([key, readValue(scan)]);
      return Object.fromEntries(members);
    }
    case 'array': {
      const items: unknown[] = [];
      scan.openArray();
      while (scan.nextItem()) items.push(readValue(scan));
      return items;
    }
    case 'string':
      return scan.string();
    case 'number':
      return scan.number();
    case 'boolean':
      return scan.boolean();
    case 'null':
      scan.skip();
      return null;
  }
}

type Reading =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: unknown };

function attempt(read: () => unknown): Reading {
  try {
    return { ok: true, value: read() };
  } catch (error) {
    return { ok: false, error };
  }
}

function scanned(bytes: Uint8Array): Reading {
  return attempt(() => {
    const scan = new JsonScan(bytes, MAX_DEPTH);
    const value = readValue(scan);
    scan.finish();
    return value;
  });
}

function skipped(bytes: Uint8Array): Reading {
  return attempt(() => {
    const scan = new JsonScan(bytes, MAX_DEPTH);
    scan.skip();
    scan.finish();
  });
}

/** What JSON.parse takes and the scanner refuses on purpose: halves of surrogate pairs, numbers past a double. */
function isRefusedOnPurpose(value: unknown): boolean {
  return (
    hasHalfPairs(value) ||
    parts(value).some((part) => part === Number.POSITIVE_INFINITY || part === Number.NEGATIVE_INFINITY)
  );
}

function hasHalfPairs(value: unknown): boolean {
  return parts(value).some((part) => typeof part === 'string' && !part.isWellFormed());
}

/** All names and scalars of a value. */
function parts(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [value];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...parts(inner)]);
}

const values = fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' });
const layouts = fc.constantFrom(undefined, 1, '\t', ' \n');
const PIECES = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"',
  '\\',
  '0',
  '1',
  '-',
  '.',
  'e',
  '+',
  ' ',
  't',
  'true',
  'null',
];
const ESCAPES = [
  '\\u00e9',
  '\\ud83d\\ude00',
  '\\ud800',
  '\\x',
  '\\/',
  '\n',
  '\0',
  '""',
  '1e999',
  '-0',
  '00',
  '1.',
];

/** A JSON text with a few places changed: most are broken then, in all ways. */
const changedTexts = fc
  .tuple(
    values,
    layouts,
    fc.array(fc.tuple(fc.nat(), fc.nat(2), fc.constantFrom(...PIECES, ...ESCAPES)), {
      minLength: 1,
      maxLength: 3,
    }),
  )
  .map(([value, layout, changes]) => {
    let text = JSON.stringify(value, null, layout);
    for (const [place, removed, piece] of changes) {
      const at = place % (text.length + 1);
      text = text.slice(0, at) + piece + text.slice(at + removed);
    }
    return text;
  });

describe('JsonScan', () => {
  it('reads every value as JSON.parse does', () => {
    fc.assert(
      fc.property(values, layouts, (value, layout) => {
        const text = JSON.stringify(value, null, layout);
        fc.pre(!isRefusedOnPurpose(JSON.parse(text)));
        const reading = scanned(Buffer.from(text));
        expect(reading).toEqual({ ok: true, value: JSON.parse(text) });
        expect(skipped(Buffer.from(text)).ok).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('takes and refuses changed texts exactly as JSON.parse does, and says where', () => {
    let refused = 0;
    fc.assert(
      fc.property(changedTexts, (text) => {
        // Bare NaN and infinities are this protocol's own; a cut surrogate pair would be other bytes.
        fc.pre(!/NaN|Inf/.test(text) && text.isWellFormed());
        const expected = attempt(() => JSON.parse(text) as unknown);
        const isTaken = expected.ok && !isRefusedOnPurpose(expected.value);
        const reading = scanned(Buffer.from(text));
        expect(reading.ok).toBe(isTaken);
        if (expected.ok && reading.ok) expect(reading.value).toEqual(expected.value);
        if (reading.ok) return;
        refused += 1;
        if (!isGimbalError(reading.error)) throw reading.error;
        expect(reading.error.code).toBe('MALFORMED_REQUEST');
        expect(reading.error.message).toMatch(/^Cannot read the JSON: expected .+, got .+ at byte \d+/);
        expect(reading.error.fields).toHaveLength(1);
      }),
      { numRuns: 3000 },
    );
    expect(refused).toBeGreaterThan(500);
  });

  it('skips what JSON.parse takes, also numbers past a double: nobody asked for their value', () => {
    fc.assert(
      fc.property(changedTexts, (text) => {
        fc.pre(!/NaN|Inf/.test(text) && text.isWellFormed());
        const expected = attempt(() => JSON.parse(text) as unknown);
        expect(skipped(Buffer.from(text)).ok).toBe(expected.ok && !hasHalfPairs(expected.value));
      }),
      { numRuns: 2000 },
    );
  });

  it('never throws anything but its own errors, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        const reading = scanned(bytes);
        if (!reading.ok && !isGimbalError(reading.error)) throw reading.error;
      }),
      { numRuns: 2000 },
    );
  });

  it('refuses bytes in strings that are not UTF-8', () => {
    for (const bad of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe2, 0x82]]) {
      const reading = scanned(Buffer.from([0x22, 0x61, ...bad, 0x22]));
      expect(reading).toMatchObject({ ok: false, error: { code: 'MALFORMED_REQUEST' } });
    }
  });

  it('reads bare NaN and infinities where it is asked to, and as no number', () => {
    for (const [text, value] of [
      ['NaN', Number.NaN],
      ['Infinity', Number.POSITIVE_INFINITY],
      ['-Infinity', Number.NEGATIVE_INFINITY],
      ['Inf', Number.POSITIVE_INFINITY],
    ] as const) {
      const scan = new JsonScan(Buffer.from(text), 1);
      expect([scan.kind(), scan.atNonFinite(), scan.nonFinite(), scan.next()]).toEqual([
        'number',
        true,
        value,
        END,
      ]);
      expect(() => new JsonScan(Buffer.from(text), 1).number()).toThrow(
        expect.objectContaining({ code: 'INVALID_INPUT' }),
      );
    }
  });

  it('nests as deep as it may and no deeper', () => {
    const nested = (depth: number): Uint8Array =>
      Buffer.from(`${'[{"a":'.repeat(depth / 2)}1${'}]'.repeat(depth / 2)}`);
    expect(scanned(nested(MAX_DEPTH)).ok).toBe(true);
    expect(skipped(nested(MAX_DEPTH)).ok).toBe(true);
    for (const read of [scanned, skipped])
      expect(read(nested(MAX_DEPTH + 2))).toMatchObject({
        ok: false,
        error: { message: expect.stringContaining('nested too deep') },
      });
    expect(skipped(Buffer.alloc(1_000_000, '[')).ok).toBe(false);
  });

  it('says of a value of another kind where it is, what was expected and what came', () => {
    const scan = new JsonScan(Buffer.from('{"a":[1,{"b":"x"}]}'), 5);
    scan.openObject();
    scan.nextKey();
    scan.openArray();
    scan.nextItem();
    scan.skip();
    scan.nextItem();
    scan.openObject();
    scan.nextKey();
    expect(() => scan.number()).toThrow(
      expect.objectContaining({
        code: 'INVALID_INPUT',
        fields: [expect.objectContaining({ pointer: '/a/1/b', expected: 'a number' })],
      }),
    );
  });
});
