import type { PartOutput, TensorOutput, WorkDone } from '@gimbal/core';

/** An answer in memory of its own. */
export interface AnswerCopy {
  readonly answer: WorkDone;
  /** Of its outputs. */
  readonly bytes: number;
}

/** Starts of outputs: a multiple of every datatype's size, so that they can be viewed as what they are. */
const ALIGNMENT_BYTES = 8;

/**
 * Copies an answer out of its runner's output memory, which is only valid until the call is closed, into one buffer that
 * any later call may read and none may write.
 */
export function copyAnswer(done: WorkDone): AnswerCopy {
  const outputs = done.parts.flatMap(outputsOf);
  const bytes = outputs.reduce((sum, output) => sum + padded(output.byteLength), 0);
  const memory = new Uint8Array(bytes);
  let offset = 0;
  const copy = (source: Uint8Array): Uint8Array => {
    const target = memory.subarray(offset, offset + source.byteLength);
    target.set(source);
    offset += padded(source.byteLength);
    return target;
  };
  return { answer: { ...done, parts: done.parts.map((part) => copyPart(part, copy)) }, bytes };
}

function outputsOf(part: PartOutput): readonly Uint8Array[] {
  return part.kind === 'answer' ? [part.json] : part.outputs.map(({ bytes }) => bytes);
}

function copyPart(part: PartOutput, copy: (source: Uint8Array) => Uint8Array): PartOutput {
  if (part.kind === 'answer') return { ...part, json: copy(part.json) };
  const outputs = part.outputs.map(
    ({ bytes, shape }): TensorOutput => ({ bytes: copy(bytes), shape: [...shape] }),
  );
  return { ...part, outputs };
}

function padded(byteLength: number): number {
  return Math.ceil(byteLength / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
}
