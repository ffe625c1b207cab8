import { type Datatype, isGimbalError } from '@gimbal/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readInferMessage } from './infer-message.ts';
import type { Message } from './protocol.ts';
import { contentsSize, hasElements, type TypedInput, writeContents } from './tensor-contents.ts';
import { METHODS } from './testing/grpc-bench.ts';

/** The views of one input's `contents`, as another implementation of protobuf wrote them. */
function contentsOf(contents: Message): readonly Buffer[] {
  const bytes = METHODS.ModelInfer?.requestSerialize({ inputs: [{ name: 'X', contents }] });
  return readInferMessage(bytes as Buffer).inputs[0]?.contents ?? [];
}

function tensorOf(datatype: Datatype, contents: readonly Buffer[]): { count: number; bytes: Buffer } {
  const input: TypedInput = { name: 'X', datatype, contents };
  const size = contentsSize(input);
  const bytes = Buffer.alloc(size.byteLength, 0xdd);
  writeContents(input, bytes);
  return { count: size.count, bytes };
}

const CASES: readonly (readonly [
  Datatype,
  string,
  fc.Arbitrary<unknown>,
  (values: never[]) => ArrayBufferView,
])[] = [
  ['BOOL', 'bool_contents', fc.boolean(), (values) => Uint8Array.from(values, Number)],
  ['INT8', 'int_contents', fc.integer({ min: -128, max: 127 }), (values) => Int8Array.from(values)],
  ['INT16', 'int_contents', fc.integer({ min: -32768, max: 32767 }), (values) => Int16Array.from(values)],
  ['INT32', 'int_contents', fc.integer(), (values) => Int32Array.from(values)],
  [
    'INT64',
    'int64_contents',
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
    (values) => BigInt64Array.from(values, BigInt),
  ],
  ['UINT8', 'uint_contents', fc.nat(255), (values) => Uint8Array.from(values)],
  ['UINT16', 'uint_contents', fc.nat(65535), (values) => Uint16Array.from(values)],
  ['UINT32', 'uint_contents', fc.nat(2 ** 32 - 1), (values) => Uint32Array.from(values)],
  [
    'UINT64',
    'uint64_contents',
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String),
    (values) => BigUint64Array.from(values, BigInt),
  ],
  ['FP32', 'fp32_contents', fc.float(), (values) => Float32Array.from(values)],
  ['FP64', 'fp64_contents', fc.double(), (values) => Float64Array.from(values)],
];

describe('typed contents', () => {
  it.each(CASES)('%s in %s become the bytes of its tensor', (datatype, member, value, expected) => {
    fc.assert(
      fc.property(fc.array(value, { maxLength: 40 }), (values) => {
        const made = tensorOf(datatype, contentsOf({ [member]: values }));
        const view = expected(values as never[]);
        expect(made.count).toBe(values.length);
        expect(made.bytes.equals(Buffer.from(view.buffer, view.byteOffset, view.byteLength))).toBe(true);
      }),
    );
  });

  it('BYTES get their lengths before them', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 10 }), (elements) => {
        const made = tensorOf(
          'BYTES',
          contentsOf({ bytes_contents: elements.map((one) => Buffer.from(one)) }),
        );
        const expected = elements.flatMap((one) => {
          const length = Buffer.alloc(4);
          length.writeUInt32LE(one.length);
          return [length, one];
        });
        expect(made.count).toBe(elements.length);
        expect(made.bytes.equals(Buffer.concat(expected))).toBe(true);
      }),
    );
  });

  it('elements that are not packed, and messages in pieces, are one list', () => {
    const unpacked = Buffer.from([0x10, 0x05, 0x10, 0x06]);
    const packed = Buffer.from([0x12, 0x02, 0x07, 0x08]);
    expect([...tensorOf('INT8', [unpacked, packed]).bytes]).toEqual([5, 6, 7, 8]);
  });

  it.each([
    ['INT8', { int_contents: [128] }, /from -128 to 127, got 128/],
    ['INT16', { int_contents: [-32769] }, /from -32768 to 32767, got -32769/],
    ['UINT8', { uint_contents: [256] }, /from 0 to 255, got 256/],
    ['UINT16', { uint_contents: [70000] }, /from 0 to 65535, got 70000/],
    ['INT32', { uint_contents: [1] }, /expected its INT32 elements in "int_contents", got "uint_contents"/],
    ['FP64', { fp32_contents: [1] }, /"fp64_contents", got "fp32_contents"/],
    ['BYTES', { int_contents: [1] }, /"bytes_contents", got "int_contents"/],
  ] as const)('%s refuses %j', (datatype, contents, message) => {
    expect(() => tensorOf(datatype, contentsOf(contents))).toThrow(message);
  });

  it('an empty message has no elements, one empty text is one', () => {
    expect(hasElements(contentsOf({ int_contents: [] }))).toBe(false);
    expect(hasElements(contentsOf({ bytes_contents: [Buffer.alloc(0)] }))).toBe(true);
  });

  it('bytes that are no contents give an error of ours and nothing else', () => {
    const datatypes = fc.constantFrom<Datatype>('BOOL', 'INT8', 'INT64', 'UINT32', 'FP32', 'FP64', 'BYTES');
    fc.assert(
      fc.property(datatypes, fc.uint8Array({ maxLength: 60 }), (datatype, noise) => {
        try {
          tensorOf(datatype, [Buffer.from(noise)]);
        } catch (error) {
          expect(isGimbalError(error), String(error)).toBe(true);
        }
      }),
      { numRuns: 3_000 },
    );
  });
});
