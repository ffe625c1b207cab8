import type { Datatype } from '@gimbal/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inferAnswer, streamAnswer, streamError } from './infer-answer.ts';
import type { Message } from './protocol.ts';
import { METHODS } from './testing/grpc-bench.ts';

const head = fc.record({
  model: fc.string({ unit: 'grapheme' }),
  version: fc.string({ maxLength: 5 }),
  id: fc.string({ unit: 'grapheme' }),
  final: fc.option(fc.boolean(), { nil: undefined }),
});
const output = fc.record({
  name: fc.string({ unit: 'grapheme' }),
  datatype: fc.constantFrom<Datatype>('FP32', 'BYTES', 'INT64'),
  shape: fc.array(fc.maxSafeNat(), { maxLength: 4 }),
  pieces: fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 3 }),
});

function decoded(method: string, bytes: Buffer): Message {
  const definition = METHODS[method];
  if (!definition) throw new Error(`no method ${method}`);
  return definition.responseDeserialize(bytes);
}

describe('an answer', () => {
  it('is read by another implementation as it was meant, outputs raw and in order', () => {
    fc.assert(
      fc.property(head, fc.array(output, { maxLength: 5 }), (named, outputs) => {
        const answer = inferAnswer(named, outputs);
        const bytes = answer.toBytes();
        expect(bytes.length).toBe(answer.byteLength);
        const read = decoded('ModelInfer', bytes);
        expect(read.model_name).toBe(named.model);
        expect(read.model_version).toBe(named.version);
        expect(read.id).toBe(named.id);
        expect(read.outputs).toMatchObject(
          outputs.map(({ name, datatype, shape }) => ({ name, datatype, shape: shape.map(String) })),
        );
        const raw = read.raw_output_contents as Buffer[];
        expect(raw.map((one) => [...one])).toEqual(outputs.map(({ pieces }) => [...Buffer.concat(pieces)]));
        const final = (read.parameters as Record<string, Message>).triton_final_response;
        expect(final?.bool_param).toBe(named.final);
      }),
    );
  });

  it('copies itself to any place, and is the same inside a stream’s message', () => {
    fc.assert(
      fc.property(head, fc.array(output, { maxLength: 3 }), fc.nat(20), (named, outputs, at) => {
        const answer = streamAnswer(inferAnswer(named, outputs));
        const frame = Buffer.alloc(answer.byteLength + at, 0xdd);
        expect(answer.copy(frame, at)).toBe(answer.byteLength);
        const read = decoded('ModelStreamInfer', frame.subarray(at));
        expect(read.error_message).toBe('');
        expect((read.infer_response as Message).id).toBe(named.id);
      }),
    );
  });

  it('needs its pieces no longer once it is detached', () => {
    const piece = Buffer.from('elements');
    const named = { model: 'm', version: '1', id: '', final: undefined };
    const answer = inferAnswer(named, [{ name: 'Y', datatype: 'BYTES', shape: [1], pieces: [piece] }]);
    answer.detach();
    piece.fill(0);
    expect((decoded('ModelInfer', answer.toBytes()).raw_output_contents as Buffer[])[0]?.toString()).toBe(
      'elements',
    );
  });

  it('of a failure on a stream has its message and the id that it belongs to', () => {
    const bytes = streamError('Cannot', { model: 'm', version: '', id: '7', final: true }).toBytes();
    const read = decoded('ModelStreamInfer', bytes);
    expect(read.error_message).toBe('Cannot');
    expect(read.infer_response).toMatchObject({ model_name: 'm', id: '7', outputs: [] });
  });
});
