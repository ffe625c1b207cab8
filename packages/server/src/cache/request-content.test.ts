import type { Signature } from '@gimbal/core';
import { describe, expect, it } from 'vitest';
import { contentOf } from './request-content.ts';

const SIGNATURE: Signature = {
  inputs: [
    { name: 'ids', datatype: 'INT64', shape: [-1, 2], axisNames: ['batch', null] },
    { name: 'mask', datatype: 'BOOL', shape: [-1, 2], axisNames: ['batch', null] },
  ],
  outputs: [],
  batchAxis: 'dynamic',
};
const SPEC = { model: 'words', digest: 'ab12', signature: SIGNATURE };
const ARENA = Uint8Array.from({ length: 64 }, (_, index) => index);

describe('contentOf', () => {
  it('names the tensors of a work by the signature and views their bytes', () => {
    const tensors = [
      { span: { offset: 16, byteLength: 16 }, shape: [1, 2] },
      { span: { offset: 0, byteLength: 2 }, shape: [1, 2] },
    ];
    const { input } = contentOf({ input: { kind: 'tensors', tensors } }, SPEC, ARENA);
    expect(input).toEqual({
      kind: 'tensors',
      inputs: [
        { name: 'ids', datatype: 'INT64', shape: [1, 2], bytes: ARENA.slice(16, 32) },
        { name: 'mask', datatype: 'BOOL', shape: [1, 2], bytes: ARENA.slice(0, 2) },
      ],
    });
    if (input.kind === 'tensors') expect(input.inputs[0]?.bytes.buffer).toBe(ARENA.buffer);
  });

  it('views the bytes of an encoded input', () => {
    const request = { input: { kind: 'encoded', span: { offset: 8, byteLength: 4 } } } as const;
    expect(contentOf(request, SPEC, ARENA)).toEqual({
      model: 'words',
      digest: 'ab12',
      input: { kind: 'encoded', bytes: Uint8Array.of(8, 9, 10, 11) },
    });
  });

  it('refuses a work that lacks a tensor', () => {
    expect(() => contentOf({ input: { kind: 'tensors', tensors: [] } }, SPEC, ARENA)).toThrow('each input');
  });
});
