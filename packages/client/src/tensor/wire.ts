import { packElements, unpackElements } from './byte-elements.ts';
import { byteSizeOf, type Datatype, type TensorElements } from './datatype.ts';
import { fromBrainBits, fromHalfBits, toBrainBits, toHalfBits } from './half.ts';
import type { Tensor } from './tensor.ts';

/**
 * Elements as the binary extension has them: little endian, as typed arrays are wherever JavaScript runs today. Numbers
 * are views of the tensor's memory, not copies.
 */
export function toWire(tensor: Tensor): Uint8Array<ArrayBuffer> {
  switch (tensor.datatype) {
    case 'BYTES':
      return packElements(tensor.data);
    case 'FP16':
      return viewOf(Uint16Array.from(tensor.data, toHalfBits));
    case 'BF16':
      return viewOf(Uint16Array.from(tensor.data, toBrainBits));
    default:
      return viewOf(tensor.data);
  }
}

/** The elements that bytes stand for; undefined when the bytes are not exactly `count` elements. */
export function fromWire(
  datatype: Datatype,
  bytes: Uint8Array<ArrayBuffer>,
  count: number,
): TensorElements[Datatype] | undefined {
  if (datatype === 'BYTES') return unpackElements(bytes, count);
  if (bytes.length !== count * byteSizeOf(datatype)) return undefined;
  switch (datatype) {
    case 'BOOL':
    case 'UINT8':
      return bytes;
    case 'FP16':
      return Float32Array.from(new Uint16Array(aligned(bytes)), fromHalfBits);
    case 'BF16':
      return Float32Array.from(new Uint16Array(aligned(bytes)), fromBrainBits);
    default:
      return new ARRAYS[datatype](aligned(bytes));
  }
}

const ARRAYS = {
  UINT16: Uint16Array,
  UINT32: Uint32Array,
  UINT64: BigUint64Array,
  INT8: Int8Array,
  INT16: Int16Array,
  INT32: Int32Array,
  INT64: BigInt64Array,
  FP32: Float32Array,
  FP64: Float64Array,
} as const;

function viewOf(list: ArrayBufferView): Uint8Array<ArrayBuffer> {
  return new Uint8Array(list.buffer as ArrayBuffer, list.byteOffset, list.byteLength);
}

/** The JSON before the tensors has any length, and typed arrays only begin at multiples of their element. */
function aligned(bytes: Uint8Array<ArrayBuffer>): ArrayBuffer {
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
}
