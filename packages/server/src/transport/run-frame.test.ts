import type { BatchJob, Datatype, JobPart, Signature } from '@gimbal/core';
import { describe, expect, test } from 'vitest';
import { FRAME_HEADER_BYTES, FrameBuffer } from './frame-buffer.ts';
import { MalformedFrame } from './frame-cursor.ts';
import { HeapArena } from './heap-arena.ts';
import { openArena } from './open-arena.ts';
import { readRun, writeRun } from './run-frame.ts';

const PARAMETERS = { topK: 3, threshold: 0.3 };

function signatureOf(...datatypes: Datatype[]): Signature {
  const tensors = datatypes.map((datatype, index) => ({
    name: `t${index}`,
    datatype,
    shape: [-1, -1],
    axisNames: [null, null],
  }));
  return { inputs: tensors, outputs: [], batchAxis: 'dynamic' };
}

function part(more: Partial<JobPart> & Pick<JobPart, 'input'>): JobPart {
  return { firstRow: 0, rows: 1, sliced: false, want: 'tensors', parameters: PARAMETERS, ...more };
}

function bodyOf(frame: FrameBuffer): Uint8Array {
  return Uint8Array.from(Buffer.concat(frame.end())).subarray(FRAME_HEADER_BYTES);
}

describe.each(['shared', 'heap'] as const)('A run over a %s arena', (kind) => {
  test('arrives with all that it was sent with', () => {
    const { arena } = openArena(4096, kind);
    arena.bytes.set(Array.from({ length: 256 }, (_, index) => index));
    const job: BatchJob = {
      id: 2 ** 40,
      parts: [
        part({
          input: {
            kind: 'tensors',
            tensors: [
              { span: { offset: 0, byteLength: 8 }, shape: [1, 2] },
              { span: { offset: 100, byteLength: 3 }, shape: [1, 3] },
            ],
          },
        }),
        part({ input: { kind: 'encoded', span: { offset: 64, byteLength: 5 } }, want: 'answer' }),
      ],
    };
    const frame = new FrameBuffer();
    frame.begin('run');
    const signature = signatureOf('FP32', 'UINT8');
    writeRun(frame, job, { arena, signature, outputSpan: { offset: 128, byteLength: 64 } });
    const order = readRun(bodyOf(frame), kind === 'shared' ? arena.bytes : undefined);
    expect(order.batchId).toBe(2 ** 40);
    expect(order.outputSpan).toEqual({ offset: 128, byteLength: 64 });
    expect(order.parts).toEqual([
      {
        encoded: false,
        want: 'tensors',
        sliced: false,
        parameters: PARAMETERS,
        firstRow: 0,
        rows: 1,
        tensors: [
          { bytes: new Uint8Array([0, 1, 2, 3, 4, 5, 6, 7]), shape: [1, 2] },
          { bytes: new Uint8Array([100, 101, 102]), shape: [1, 3] },
        ],
      },
      {
        encoded: true,
        want: 'answer',
        sliced: false,
        parameters: PARAMETERS,
        firstRow: 0,
        rows: 1,
        tensors: [{ bytes: new Uint8Array([64, 65, 66, 67, 68]), shape: [] }],
      },
    ]);
  });
});

test('A run over a heap arena carries only the rows of its parts', () => {
  const arena = new HeapArena(4096);
  arena.bytes.set([1, 0, 0, 0, 65, 2, 0, 0, 0, 66, 67, 0, 0, 0, 0]);
  const input = {
    kind: 'tensors',
    tensors: [{ span: { offset: 0, byteLength: 15 }, shape: [3, 1] }],
  } as const;
  const job = { id: 1, parts: [part({ input, sliced: true, firstRow: 1, rows: 2 })] };
  const frame = new FrameBuffer();
  frame.begin('run');
  writeRun(frame, job, { arena, signature: signatureOf('BYTES'), outputSpan: undefined });
  const [only] = readRun(bodyOf(frame), undefined).parts;
  expect(only).toMatchObject({ sliced: false, firstRow: 0, rows: 2 });
  expect(only?.tensors).toEqual([{ bytes: new Uint8Array([2, 0, 0, 0, 66, 67, 0, 0, 0, 0]), shape: [2, 1] }]);
});

test('A run that names memory outside the arena is malformed', () => {
  const { arena } = openArena(4096, 'shared');
  const input = {
    kind: 'tensors',
    tensors: [{ span: { offset: 4000, byteLength: 100 }, shape: [100] }],
  } as const;
  const frame = new FrameBuffer();
  frame.begin('run');
  writeRun(
    frame,
    { id: 1, parts: [part({ input })] },
    { arena, signature: signatureOf('UINT8'), outputSpan: undefined },
  );
  expect(() => readRun(bodyOf(frame), arena.bytes)).toThrow(MalformedFrame);
});
