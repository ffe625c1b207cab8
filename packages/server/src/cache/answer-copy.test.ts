import type { PartOutput, WorkDone } from '@gimbal/core';
import { describe, expect, it } from 'vitest';
import { copyAnswer } from './answer-copy.ts';

function anAnswer(...parts: PartOutput[]): WorkDone {
  const timings = { queueMs: 1, batchMs: 1, preprocessMs: 1, inferMs: 1, postprocessMs: 1 };
  return { ok: true, variant: 'fp32', rung: 0, batchRows: 4, parts, timings };
}

describe('copyAnswer', () => {
  it('keeps an answer though the memory that it came in is used again', () => {
    const json = new TextEncoder().encode('"label":"cat"');
    const { answer, bytes } = copyAnswer(anAnswer({ kind: 'answer', json }));
    json.fill(0);
    expect(answer).toEqual(anAnswer({ kind: 'answer', json: new TextEncoder().encode('"label":"cat"') }));
    expect(bytes).toBe(16);
  });

  it('keeps all tensors of all parts, each where its datatype can be viewed', () => {
    const memory = Uint8Array.from({ length: 32 }, (_, index) => index);
    const shape = [1, 3];
    const part = (from: number, length: number): PartOutput => ({
      kind: 'tensors',
      rows: 1,
      outputs: [
        { bytes: memory.subarray(from, from + length), shape },
        { bytes: memory.subarray(from + length, from + length + 8), shape: [1] },
      ],
    });
    const done = anAnswer(part(1, 3), part(12, 4));
    const expected = structuredClone(done);
    const { answer, bytes } = copyAnswer(done);
    memory.fill(255);
    shape.push(9);
    expect(answer).toEqual(expected);
    expect(bytes).toBe(32);
    for (const copied of answer.parts) {
      if (copied.kind !== 'tensors') continue;
      for (const output of copied.outputs) expect(output.bytes.byteOffset % 8).toBe(0);
    }
  });

  it('takes an answer without any output', () => {
    expect(copyAnswer(anAnswer()).bytes).toBe(0);
  });
});
