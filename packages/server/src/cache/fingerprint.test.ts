import { SeededRandom } from '@gimbal/core';
import { describe, expect, it } from 'vitest';
import { fingerprintOf, sketchOf } from './fingerprint.ts';
import type { RequestContent } from './request-content.ts';

function anImage(bytes: Uint8Array, over: Partial<RequestContent> = {}): RequestContent {
  return { model: 'photos', digest: 'ab12ab12ab12', input: { kind: 'encoded', bytes }, ...over };
}

/** Bytes that look random and are the same each time. */
function someBytes(length: number, seed = 1): Uint8Array {
  const random = new SeededRandom(seed);
  return Uint8Array.from({ length }, () => Math.floor(random.next() * 256));
}

describe('fingerprintOf', () => {
  it('differs when one byte does, also one that no sketch looks at', () => {
    const bytes = someBytes(10_000);
    const changed = Uint8Array.from(bytes);
    changed[1] = (changed[1] ?? 0) ^ 1;
    expect(sketchOf(anImage(changed))).toBe(sketchOf(anImage(bytes)));
    expect(fingerprintOf(anImage(changed))).not.toBe(fingerprintOf(anImage(bytes)));
  });

  it('is another for another version: what crashed one model may be fine for the next', () => {
    const bytes = someBytes(100);
    const next = anImage(bytes, { digest: 'ffffffffffff' });
    expect(fingerprintOf(next)).not.toBe(fingerprintOf(anImage(bytes)));
    expect(sketchOf(next)).not.toBe(sketchOf(anImage(bytes)));
  });
});

describe('sketchOf', () => {
  it('is an unsigned 32-bit number for inputs of any size', () => {
    for (const length of [0, 1, 2, 31, 32, 33, 100_000]) {
      const sketch = sketchOf(anImage(someBytes(length)));
      expect(Number.isInteger(sketch) && sketch >= 0 && sketch < 2 ** 32).toBe(true);
    }
  });

  it('sees the length, the first and the last byte', () => {
    const bytes = someBytes(1000);
    const [first, last] = [Uint8Array.from(bytes), Uint8Array.from(bytes)];
    first[0] = (first[0] ?? 0) ^ 1;
    last[999] = (last[999] ?? 0) ^ 1;
    const sketches = [bytes, first, last, bytes.subarray(0, 999)].map((each) => sketchOf(anImage(each)));
    expect(new Set(sketches).size).toBe(4);
  });

  it('tells nearly all inputs of one size apart', () => {
    const sketches = Array.from({ length: 5000 }, (_, seed) =>
      sketchOf(anImage(someBytes(4096, seed * 4099))),
    );
    expect(new Set(sketches).size).toBeGreaterThan(1995);
  });
});
