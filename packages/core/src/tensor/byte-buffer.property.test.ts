import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteBuffer } from './byte-buffer.ts';

type Step =
  | { readonly kind: 'push'; readonly byte: number }
  | { readonly kind: 'append'; readonly bytes: Uint8Array; readonly start: number; readonly end: number }
  | { readonly kind: 'extend'; readonly byteLength: number; readonly byte: number }
  | { readonly kind: 'overwrite'; readonly at: number; readonly value: number }
  | { readonly kind: 'clear' };

const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('push' as const), byte: fc.nat(255) }),
  fc.tuple(fc.uint8Array({ maxLength: 1500 }), fc.nat(), fc.nat()).map(([bytes, left, right]): Step => {
    const [start = 0, end = 0] = [left % (bytes.length + 1), right % (bytes.length + 1)].sort(
      (a, b) => a - b,
    );
    return { kind: 'append', bytes, start, end };
  }),
  fc.record({ kind: fc.constant('extend' as const), byteLength: fc.nat(3000), byte: fc.nat(255) }),
  fc.record({ kind: fc.constant('overwrite' as const), at: fc.nat(), value: fc.nat(0xffffffff) }),
  fc.constant({ kind: 'clear' as const }),
);

/** The same on a plain array. */
function model(bytes: number[], step: Step): void {
  switch (step.kind) {
    case 'push':
      bytes.push(step.byte);
      break;
    case 'append':
      bytes.push(...step.bytes.slice(step.start, step.end));
      break;
    case 'extend':
      bytes.push(...new Array<number>(step.byteLength).fill(step.byte));
      break;
    case 'overwrite': {
      if (bytes.length < 4) return;
      const written = new Uint8Array(4);
      new DataView(written.buffer).setUint32(0, step.value, true);
      bytes.splice(step.at % (bytes.length - 3), 4, ...written);
      break;
    }
    case 'clear':
      bytes.length = 0;
  }
}

function apply(buffer: ByteBuffer, step: Step): void {
  switch (step.kind) {
    case 'push':
      buffer.push(step.byte);
      break;
    case 'append':
      buffer.append(step.bytes, step.start, step.end);
      break;
    case 'extend': {
      const view = buffer.extend(step.byteLength);
      expect(view.length).toBe(step.byteLength);
      view.fill(step.byte);
      break;
    }
    case 'overwrite':
      if (buffer.length >= 4) buffer.setUint32(step.at % (buffer.length - 3), step.value);
      break;
    case 'clear':
      buffer.clear();
  }
}

describe('ByteBuffer', () => {
  it('holds what an array would, after any steps', () => {
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 30 }), (taken) => {
        const buffer = new ByteBuffer();
        const expected: number[] = [];
        for (const step of taken) {
          apply(buffer, step);
          model(expected, step);
        }
        expect(buffer.length).toBe(expected.length);
        expect(Buffer.from(buffer.bytes).equals(Buffer.from(expected))).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('keeps its memory over small uses, and gives large memory back', () => {
    const buffer = new ByteBuffer();
    buffer.extend(100);
    const { buffer: small } = buffer.bytes;
    buffer.clear();
    buffer.push(1);
    expect(buffer.bytes.buffer).toBe(small);
    buffer.extend(5 * 1024 * 1024);
    buffer.clear();
    buffer.push(2);
    expect(buffer.bytes.buffer.byteLength).toBeLessThan(1024 * 1024);
    expect([...buffer.bytes]).toEqual([2]);
  });

  it('writes lengths of 2 GiB and more as unsigned', () => {
    const buffer = new ByteBuffer();
    buffer.extend(4);
    buffer.setUint32(0, 0xfffefdfc);
    expect([...buffer.bytes]).toEqual([0xfc, 0xfd, 0xfe, 0xff]);
  });
});
