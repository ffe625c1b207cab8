import { type JobPart, type Signature, STREAMED } from '@gimbal/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FRAME_HEADER_BYTES, FrameBuffer } from './frame-buffer.ts';
import { MalformedFrame } from './frame-cursor.ts';
import type { PartResult } from './part-result.ts';
import { readReport, writeReport } from './report-frame.ts';

const SIGNATURE: Signature = {
  inputs: [],
  outputs: [
    { name: 'a', datatype: 'UINT16', shape: [-1, -1], axisNames: [null, null] },
    { name: 'b', datatype: 'BYTES', shape: [-1], axisNames: [null] },
  ],
  batchAxis: 'dynamic',
};

const HEAD = { batchId: 7, preprocessMs: 0.25, inferMs: 1.5, postprocessMs: 0.125, residentBytes: 1e9 };

const tensors = fc
  .record({
    rows: fc.integer({ min: 0, max: 4 }),
    width: fc.integer({ min: 0, max: 9 }),
    text: fc.uint8Array(),
  })
  .map(
    ({ rows, width, text }): PartResult => ({
      kind: 'tensors',
      rows,
      outputs: [
        { bytes: new Uint8Array(rows * width * 2).fill(rows + width), shape: [rows, width] },
        { bytes: text, shape: [rows] },
      ],
    }),
  );
const answer = fc.string().map((text): PartResult => ({ kind: 'answer', json: Buffer.from(text) }));
const failed = fc.string().map(
  (message): PartResult => ({
    kind: 'failed',
    failure: {
      code: 'INVALID_INPUT',
      message,
      fields: [{ pointer: '/inputs/0', expected: 'one', received: 'two' }],
    },
  }),
);

function partFor(result: PartResult): JobPart {
  return {
    input: { kind: 'tensors', tensors: [] },
    firstRow: 0,
    rows: 1,
    sliced: false,
    want: result.kind === 'answer' ? 'answer' : 'tensors',
    parameters: { topK: 1, threshold: 0 },
  };
}

function expected(result: PartResult): unknown {
  if (result.kind === 'streamed') return { ok: true, output: STREAMED };
  if (result.kind === 'failed') return { ok: false, ...result.failure };
  if (result.kind === 'tensors') return { ok: true, output: result };
  return { ok: true, output: { kind: 'answer', json: new Uint8Array(result.json) } };
}

function written(results: readonly PartResult[], space: Uint8Array | undefined): Uint8Array {
  const frame = new FrameBuffer();
  frame.begin('report');
  writeReport(frame, HEAD, { results, space });
  return Uint8Array.from(Buffer.concat(frame.end())).subarray(FRAME_HEADER_BYTES);
}

test('A report arrives as it was written, whatever part of it fits the space that was lent', () => {
  const spaces = fc.option(fc.integer({ min: 0, max: 300 }), { nil: undefined });
  fc.assert(
    fc.property(
      fc.array(fc.oneof(tensors, answer, failed), { maxLength: 8 }),
      spaces,
      (results, spaceBytes) => {
        const space = spaceBytes === undefined ? undefined : new Uint8Array(spaceBytes);
        const report = readReport(written(results, space), {
          parts: results.map(partFor),
          space,
          signature: SIGNATURE,
        });
        expect(report).toMatchObject(HEAD);
        expect(report.parts).toEqual(results.map(expected));
        for (const part of report.parts) {
          if (!part.ok || part.output.kind !== 'tensors') continue;
          for (const { bytes } of part.output.outputs) expect(bytes.byteOffset % 8).toBe(0);
        }
      },
    ),
  );
});

test('A report with flipped bytes is read or malformed, and never reaches outside its memory', () => {
  const flips = fc.array(fc.record({ at: fc.nat(), value: fc.nat({ max: 255 }) }), {
    minLength: 1,
    maxLength: 6,
  });
  fc.assert(
    fc.property(
      fc.array(fc.oneof(tensors, answer, failed), { minLength: 1, maxLength: 4 }),
      flips,
      (results, changes) => {
        const space = new Uint8Array(64);
        const body = written(results, space);
        for (const { at, value } of changes) body[at % body.length] = value;
        try {
          readReport(body, { parts: results.map(partFor), space, signature: SIGNATURE });
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedFrame);
        }
      },
    ),
    { numRuns: 2000 },
  );
});

test('A report whose output has not the length of its shape is malformed', () => {
  const results: PartResult[] = [
    {
      kind: 'tensors',
      rows: 1,
      outputs: [
        { bytes: new Uint8Array(8), shape: [1, 3] },
        { bytes: new Uint8Array(0), shape: [0] },
      ],
    },
  ];
  const context = { parts: results.map(partFor), space: undefined, signature: SIGNATURE };
  expect(() => readReport(written(results, undefined), context)).toThrow(MalformedFrame);
});

test('A report that answers tensors with an answer is malformed', () => {
  const results: PartResult[] = [{ kind: 'answer', json: new Uint8Array(2) }];
  const parts = [{ ...partFor(results[0] as PartResult), want: 'tensors' as const }];
  expect(() =>
    readReport(written(results, undefined), { parts, space: undefined, signature: SIGNATURE }),
  ).toThrow(MalformedFrame);
});
