import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AnswerIdentity, cacheKey } from './cache-key.ts';
import { fingerprintOf, sketchOf } from './fingerprint.ts';

// Short values of few characters: the more they look alike, the likelier a framing that is wrong collides.
const text = fc.string({ unit: fc.constantFrom('a', 'b', ':', '"', ',', '[', ']', '1'), maxLength: 4 });
const bytes = fc.uint8Array({ max: 2, maxLength: 4 });
const input = fc.record({
  name: text,
  datatype: fc.constantFrom('UINT8', 'BYTES'),
  shape: fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 3 }),
  bytes,
});

const request: fc.Arbitrary<AnswerIdentity> = fc.record({
  model: text,
  digest: text,
  want: fc.constantFrom('tensors' as const, 'answer' as const),
  parameters: fc.record({ topK: fc.integer({ min: 0, max: 12 }), threshold: fc.double() }),
  input: fc.oneof(
    fc.record({ kind: fc.constant('tensors' as const), inputs: fc.array(input, { maxLength: 3 }) }),
    fc.record({ kind: fc.constant('encoded' as const), bytes }),
  ),
});

/** Equality that knows nothing of hashing. Zero has one sign here: no answer depends on it. */
function written(identity: AnswerIdentity): string {
  return JSON.stringify(identity, (_, value: unknown) => {
    if (value instanceof Uint8Array) return [...value];
    return typeof value === 'number' ? String(value) : value;
  });
}

describe('Keys and fingerprints of any requests', () => {
  it('are equal exactly when the requests are', () => {
    fc.assert(
      fc.property(request, request, (one, other) => {
        expect(cacheKey(one) === cacheKey(other)).toBe(written(one) === written(other));
      }),
      { numRuns: 2000 },
    );
  });

  it('leave want and parameters out of what an input is known by', () => {
    fc.assert(
      fc.property(request, request, (one, other) => {
        const asked = { ...one, want: other.want, parameters: other.parameters };
        expect(fingerprintOf(asked)).toBe(fingerprintOf(one));
        const content = ({ model, digest, input: sent }: AnswerIdentity): string =>
          written({ model, digest, input: sent } as AnswerIdentity);
        expect(fingerprintOf(one) === fingerprintOf(other)).toBe(content(one) === content(other));
        if (content(one) === content(other)) expect(sketchOf(one)).toBe(sketchOf(other));
      }),
      { numRuns: 2000 },
    );
  });
});
