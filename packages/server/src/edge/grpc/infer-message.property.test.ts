import { isGimbalError } from '@gimbal/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readInferMessage } from './infer-message.ts';
import type { Message } from './protocol.ts';
import { METHODS } from './testing/grpc-bench.ts';

const parameter = fc.oneof(
  fc.boolean().map((bool_param) => ({ bool_param })),
  fc.maxSafeInteger().map((value) => ({ int64_param: String(value) })),
  fc.maxSafeNat().map((value) => ({ uint64_param: String(value) })),
  fc.string({ unit: 'grapheme' }).map((string_param) => ({ string_param })),
  fc.double({ noNaN: true }).map((double_param) => ({ double_param })),
);
const name = fc.string({ unit: 'grapheme', maxLength: 20 });
const parameters = fc.dictionary(name, parameter, { maxKeys: 4, noNullPrototype: true });
const request = fc.record({
  model_name: name,
  model_version: name,
  id: name,
  parameters,
  inputs: fc.array(
    fc.record({
      name,
      datatype: name,
      shape: fc.array(fc.maxSafeInteger(), { maxLength: 6 }),
      parameters,
      contents: fc.option(fc.record({ int_contents: fc.array(fc.integer(), { maxLength: 4 }) }), {
        nil: null,
      }),
    }),
    { maxLength: 4 },
  ),
  outputs: fc.array(fc.record({ name, parameters }), { maxLength: 4 }),
  raw_input_contents: fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 4 }),
});

function encoded(message: Message): Buffer {
  const method = METHODS.ModelInfer;
  if (!method) throw new Error('ModelInfer is missing');
  return method.requestSerialize(message);
}

/** The value that a parameter holds, as ours are read. */
function givenValue(choice: object): unknown {
  const [key, value] = Object.entries(choice)[0] ?? [];
  return key === 'int64_param' || key === 'uint64_param' ? Number(value) : value;
}

function mapOf(given: Record<string, object>): Map<string, unknown> {
  return new Map(Object.entries(given).map(([key, choice]) => [key, givenValue(choice)]));
}

describe('readInferMessage', () => {
  it('reads what another implementation wrote', () => {
    fc.assert(
      fc.property(request, (made) => {
        const read = readInferMessage(encoded(made as unknown as Message));
        expect(read.model).toBe(made.model_name);
        expect(read.version).toBe(made.model_version);
        expect(read.id).toBe(made.id);
        expect(read.parameters).toEqual(mapOf(made.parameters));
        expect(read.inputs.map(({ contents, ...input }) => ({ ...input, has: contents.length }))).toEqual(
          made.inputs.map((input) => ({
            name: input.name,
            datatype: input.datatype,
            shape: input.shape,
            parameters: mapOf(input.parameters),
            has: input.contents === null ? 0 : 1,
          })),
        );
        expect(read.outputs).toEqual(
          made.outputs.map((output) => ({ name: output.name, parameters: mapOf(output.parameters) })),
        );
        expect(read.raw.map((bytes) => [...bytes])).toEqual(
          made.raw_input_contents.map((bytes) => [...bytes]),
        );
      }),
    );
  });

  it('gives views of the message, no copies', () => {
    const bytes = encoded({ model_name: 'm', raw_input_contents: [Buffer.from('elements')] });
    const [raw] = readInferMessage(bytes).raw;
    expect(raw?.buffer).toBe(bytes.buffer);
  });

  it('answers bytes that are no message with an error of ours and nothing else', () => {
    const fuzzed = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      // A message with a few bytes changed goes deeper than noise does.
      fc
        .tuple(request, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }), fc.nat())
        .map(([made, changes, cut]) => {
          const bytes = Buffer.from(encoded(made as unknown as Message));
          for (const [at, value] of changes) if (bytes.length > 0) bytes[at % bytes.length] = value;
          return cut % 3 === 0 ? bytes.subarray(0, cut % (bytes.length + 1)) : bytes;
        }),
    );
    fc.assert(
      fc.property(fuzzed, (bytes) => {
        try {
          readInferMessage(bytes);
        } catch (error) {
          expect(isGimbalError(error), String(error)).toBe(true);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('refuses more tensors, axes and parameters than any model has', () => {
    const inputs = new Array(257).fill({ name: 'x' });
    expect(() => readInferMessage(encoded({ inputs }))).toThrow(/"inputs" is too long/);
    const shape = new Array(33).fill(1);
    expect(() => readInferMessage(encoded({ inputs: [{ name: 'x', shape }] }))).toThrow(/32 axes/);
    const many = Object.fromEntries(
      Array.from({ length: 257 }, (_, index) => [`p${index}`, { bool_param: true }]),
    );
    expect(() => readInferMessage(encoded({ parameters: many }))).toThrow(/too many parameters/);
  });

  it('reads fields of later versions over, and lists that are not packed', () => {
    const later = Buffer.concat([
      Buffer.from([0xa2, 0x06, 0x01, 0x41]), // field 100, one byte
      Buffer.from([0xa5, 0x06, 1, 2, 3, 4]), // field 100, fixed32
      Buffer.from([0x0a, 0x01, 0x6d]), // model_name "m"
      Buffer.from([0x2a, 0x04, 0x18, 0x02, 0x18, 0x03]), // an input with shape 2, 3, each by itself
    ]);
    const read = readInferMessage(later);
    expect(read.model).toBe('m');
    expect(read.inputs[0]?.shape).toEqual([2, 3]);
    expect(() => readInferMessage(Buffer.from([0x0b]))).toThrow(/wire type 3/);
  });
});
