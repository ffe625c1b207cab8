import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unpackElements } from './byte-elements.ts';
import type { Datatype, ElementSource } from './datatype.ts';
import { type Tensor, tensor, textsOf } from './tensor.ts';
import { fromWire, toWire } from './wire.ts';

const ELEMENTS: { [Each in Datatype]: fc.Arbitrary<ElementSource[Each]> } = {
  BOOL: fc.array(fc.boolean()),
  UINT8: fc.uint8Array(),
  UINT16: fc.uint16Array(),
  UINT32: fc.uint32Array(),
  UINT64: fc.bigUint64Array(),
  INT8: fc.int8Array(),
  INT16: fc.int16Array(),
  INT32: fc.int32Array(),
  INT64: fc.bigInt64Array(),
  FP16: fc.uint16Array(),
  BF16: fc.uint16Array(),
  FP32: fc.float32Array(),
  FP64: fc.float64Array(),
  BYTES: fc.array(fc.oneof(fc.uint8Array(), fc.string({ unit: 'grapheme' }))),
};

describe.each(Object.keys(ELEMENTS) as Datatype[])('%s', (datatype) => {
  it('goes over the wire and comes back, wherever in the body it lies', () => {
    const elements = ELEMENTS[datatype] as fc.Arbitrary<ElementSource[Datatype]>;
    fc.assert(
      fc.property(elements, fc.nat(7), (source, offset) => {
        const sent = tensor(datatype, [source.length], source) as Tensor;
        const bytes = toWire(sent);
        const body = new Uint8Array(bytes.length + offset + 3);
        body.set(bytes, offset);
        const back = fromWire(datatype, body.subarray(offset, offset + bytes.length), source.length);
        expect(back).toEqual(sent.data);
      }),
    );
  });
});

it('bytes that are not exactly the elements are refused', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 9 }), { maxLength: 5 }), fc.nat(60), (elements, cut) => {
      const bytes = toWire(tensor('BYTES', [elements.length], elements));
      const end = Math.min(cut, bytes.length);
      const whole = unpackElements(bytes.subarray(0, end), elements.length);
      expect(whole === undefined).toBe(end !== bytes.length);
    }),
  );
  expect(fromWire('FP32', new Uint8Array(7), 2)).toBeUndefined();
  expect(fromWire('BOOL', new Uint8Array(3), 2)).toBeUndefined();
});

it('texts come back as texts', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme' })), (texts) => {
      expect(textsOf(tensor('BYTES', [texts.length], texts))).toEqual(texts);
    }),
  );
});
