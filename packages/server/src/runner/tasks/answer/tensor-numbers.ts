import type { Datatype, TensorOutput } from '@gimbal/core';
import { fromHalfBits } from '../half-float.ts';

/** Floating point numbers of an output. FP16 is widened; integers are not numbers that a model is sure of. */
export type Numbers = Float32Array | Float64Array;

export function isFloatDatatype(datatype: Datatype): boolean {
  return datatype === 'FP32' || datatype === 'FP16' || datatype === 'FP64';
}

/** An output as numbers, without a copy where alignment and datatype allow it. */
export function readNumbers(output: TensorOutput, datatype: Datatype): Numbers {
  switch (datatype) {
    case 'FP32': {
      const bytes = aligned(output.bytes, 4);
      return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 2);
    }
    case 'FP64': {
      const bytes = aligned(output.bytes, 8);
      return new Float64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 3);
    }
    case 'FP16': {
      const bytes = aligned(output.bytes, 2);
      const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 1);
      return Float32Array.from(halves, fromHalfBits);
    }
    default:
      return new Float32Array(0);
  }
}

/** Bytes whose address is a multiple of `size`: a copy only of what a foreign frame brought unaligned. */
export function aligned(bytes: Uint8Array, size: number): Uint8Array {
  return bytes.byteOffset % size === 0 ? bytes : bytes.slice();
}
