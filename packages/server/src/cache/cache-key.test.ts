import { describe, expect, it } from 'vitest';
import { type AnswerIdentity, cacheKey, cacheScope } from './cache-key.ts';
import type { ContentInput } from './request-content.ts';

function anInput(over: Partial<ContentInput> = {}): ContentInput {
  return { name: 'x', datatype: 'UINT8', shape: [1, 6], bytes: Uint8Array.of(1, 2, 3, 4, 5, 6), ...over };
}

function aRequest(over: Partial<AnswerIdentity> = {}): AnswerIdentity {
  return {
    model: 'digits',
    digest: 'ab12',
    want: 'answer',
    parameters: { topK: 5, threshold: 0.5 },
    input: { kind: 'tensors', inputs: [anInput()] },
    ...over,
  };
}

function withInputs(...inputs: ContentInput[]): AnswerIdentity {
  return aRequest({ input: { kind: 'tensors', inputs } });
}

describe('cacheKey', () => {
  it('is the same for the same request in other memory', () => {
    const memory = Uint8Array.of(0, 0, 0, 1, 2, 3, 4, 5, 6, 0);
    const elsewhere = withInputs(anInput({ bytes: memory.subarray(3, 9) }));
    expect(cacheKey(elsewhere)).toBe(cacheKey(aRequest()));
  });

  const others: Record<string, AnswerIdentity> = {
    model: aRequest({ model: 'digit' }),
    version: aRequest({ digest: 'ab13' }),
    want: aRequest({ want: 'tensors' }),
    topK: aRequest({ parameters: { topK: 4, threshold: 0.5 } }),
    threshold: aRequest({ parameters: { topK: 5, threshold: 0.25 } }),
    'infinite threshold': aRequest({ parameters: { topK: 5, threshold: Infinity } }),
    'negative infinite threshold': aRequest({ parameters: { topK: 5, threshold: -Infinity } }),
    'topK and threshold swapped': aRequest({ parameters: { topK: 0.5, threshold: 5 } }),
    'name of an input': withInputs(anInput({ name: 'y' })),
    datatype: withInputs(anInput({ datatype: 'INT8' })),
    shape: withInputs(anInput({ shape: [6, 1] })),
    axes: withInputs(anInput({ shape: [1, 1, 6] })),
    bytes: withInputs(anInput({ bytes: Uint8Array.of(1, 2, 3, 4, 5, 7) })),
    'an input more, that is empty': withInputs(anInput(), anInput({ shape: [0], bytes: new Uint8Array() })),
    'encoded instead of tensors': aRequest({
      input: { kind: 'encoded', bytes: Uint8Array.of(1, 2, 3, 4, 5, 6) },
    }),
  };

  for (const [what, request] of Object.entries(others)) {
    it(`is another for another ${what}`, () => {
      expect(cacheKey(request)).not.toBe(cacheKey(aRequest()));
    });
  }

  it('gives all different requests different keys', () => {
    const keys = [aRequest(), ...Object.values(others)].map(cacheKey);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('is another when the names of two inputs are swapped', () => {
    const [left, right] = [Uint8Array.of(1, 2), Uint8Array.of(3, 4)];
    const one = withInputs(anInput({ name: 'a', bytes: left }), anInput({ name: 'b', bytes: right }));
    const other = withInputs(anInput({ name: 'b', bytes: left }), anInput({ name: 'a', bytes: right }));
    expect(cacheKey(one)).not.toBe(cacheKey(other));
  });

  it('is another when a byte moves from one input to the next', () => {
    const split = (at: number): AnswerIdentity => {
      const bytes = Uint8Array.of(1, 2, 3, 4);
      return withInputs(
        anInput({ name: 'a', datatype: 'BYTES', shape: [1], bytes: bytes.subarray(0, at) }),
        anInput({ name: 'b', datatype: 'BYTES', shape: [1], bytes: bytes.subarray(at) }),
      );
    };
    expect(new Set([0, 1, 2, 3, 4].map((at) => cacheKey(split(at)))).size).toBe(5);
  });

  it('is another when text moves between the model and the version', () => {
    const keys = [aRequest({ model: 'a:', digest: 'b' }), aRequest({ model: 'a', digest: ':b' })].map(
      cacheKey,
    );
    expect(keys[0]).not.toBe(keys[1]);
  });

  it('starts with the scope of its model and version, and with that of no other', () => {
    const key = cacheKey(aRequest());
    expect(key.startsWith(cacheScope('digits'))).toBe(true);
    expect(key.startsWith(cacheScope('digits', 'ab12'))).toBe(true);
    expect(key.startsWith(cacheScope('digits', 'ab13'))).toBe(false);
    expect(cacheKey(aRequest({ model: 'digits:2' })).startsWith(cacheScope('digits'))).toBe(false);
    expect(cacheKey(aRequest({ model: 'digit' })).startsWith(cacheScope('digits'))).toBe(false);
  });
});
