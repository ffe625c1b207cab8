import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FRAME_KINDS, FrameBuffer, type FrameKind } from './frame-buffer.ts';
import { MalformedFrame } from './frame-cursor.ts';
import { FrameReader } from './frame-reader.ts';

const kinds = Object.keys(FRAME_KINDS) as FrameKind[];
const frames = fc.array(
  fc.record({ kind: fc.constantFrom(...kinds), body: fc.uint8Array({ maxLength: 200 }) }),
  { maxLength: 20 },
);

function encode(frame: FrameBuffer, { kind, body }: { kind: FrameKind; body: Uint8Array }): Uint8Array {
  frame.begin(kind);
  frame.bytes(body);
  return Uint8Array.from(Buffer.concat(frame.end()));
}

test('FrameReader gives the frames that were written, however the stream is cut', () => {
  fc.assert(
    fc.property(frames, fc.array(fc.integer({ min: 1, max: 64 }), { minLength: 1 }), (sent, cuts) => {
      const buffer = new FrameBuffer();
      const stream = Buffer.concat(sent.map((frame) => encode(buffer, frame)));
      const received: { kind: FrameKind; body: Uint8Array }[] = [];
      const reader = new FrameReader((kind, body) => {
        expect(body.byteOffset % 8).toBe(0);
        received.push({ kind, body: body.slice() });
      });
      let at = 0;
      for (let index = 0; at < stream.length; index += 1) {
        const end = at + (cuts[index % cuts.length] ?? 1);
        // A chunk of its own, as a socket gives it.
        reader.push(new Uint8Array(stream.subarray(at, end)));
        at = end;
      }
      expect(received.map(({ kind }) => kind)).toEqual(sent.map(({ kind }) => kind));
      for (const [index, { body }] of sent.entries()) {
        const padded = new Uint8Array(Math.ceil(body.length / 8) * 8);
        padded.set(body);
        expect(received[index]?.body).toEqual(padded);
      }
    }),
  );
});

test('FrameReader answers random bytes with frames or MalformedFrame, never with another error', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 500 }), (bytes) => {
      const reader = new FrameReader(() => {});
      try {
        reader.push(bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedFrame);
      }
    }),
    { numRuns: 500 },
  );
});

test('FrameReader refuses a frame over the limit before any memory is taken for it', () => {
  const header = new Uint8Array(8);
  const view = new DataView(header.buffer);
  view.setUint32(0, 0xffff_fff8, true);
  view.setUint32(4, FRAME_KINDS.report, true);
  expect(() => new FrameReader(() => {}).push(header)).toThrow(MalformedFrame);
});

test('FrameReader reads large bodies into the same memory where that is asked for', () => {
  const buffer = new FrameBuffer();
  const bodies: Uint8Array[] = [];
  const large = [1, 2].map((value) => new Uint8Array(200_000).fill(value));
  const reader = new FrameReader((_kind, body) => bodies.push(body), { reuseLarge: true });
  for (const body of large) reader.push(encode(buffer, { kind: 'run', body }));
  expect(bodies[0]?.buffer).toBe(bodies[1]?.buffer);
  expect(bodies[1]).toEqual(large[1]);
});

test('FrameBuffer sends large bytes from where they lie, among what is copied', () => {
  const buffer = new FrameBuffer();
  buffer.begin('run');
  buffer.u32(7);
  const large = new Uint8Array(20_001).fill(3);
  buffer.bytes(large);
  buffer.align();
  buffer.bytes(new Uint8Array([9]));
  const pieces = buffer.end();
  expect(pieces).toContain(large);
  const received: Uint8Array[] = [];
  const reader = new FrameReader((_kind, body) => received.push(body));
  for (const piece of pieces) reader.push(piece);
  const expected = new Uint8Array(20_016);
  expected[0] = 7;
  expected.fill(3, 4, 20_005);
  expected[20_008] = 9;
  expect(received).toEqual([expected]);
});
