import { byteSizeOf, type Datatype, GimbalError, unreachable } from '@gimbal/core';
import type { TensorView } from '../transport/tensor-rows.ts';
import { elementCount } from '../transport/tensor-rows.ts';
import type { OnnxElements } from './onnx-binding.ts';

/** Longest piece of a value in an error message. */
const MAX_SHOWN = 40;

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** Bytes as the typed array that the runtime takes, without a copy. They must be aligned for the datatype. */
export function elementsOf(bytes: Uint8Array, datatype: Exclude<Datatype, 'BYTES'>): OnnxElements {
  const { buffer, byteOffset } = bytes;
  const length = bytes.length / byteSizeOf(datatype);
  switch (datatype) {
    case 'BOOL':
    case 'UINT8':
      return new Uint8Array(buffer, byteOffset, length);
    case 'INT8':
      return new Int8Array(buffer, byteOffset, length);
    case 'UINT16':
    case 'FP16':
      return new Uint16Array(buffer, byteOffset, length);
    case 'INT16':
      return new Int16Array(buffer, byteOffset, length);
    case 'UINT32':
      return new Uint32Array(buffer, byteOffset, length);
    case 'INT32':
      return new Int32Array(buffer, byteOffset, length);
    case 'FP32':
      return new Float32Array(buffer, byteOffset, length);
    case 'UINT64':
      return new BigUint64Array(buffer, byteOffset, length);
    case 'INT64':
      return new BigInt64Array(buffer, byteOffset, length);
    case 'FP64':
      return new Float64Array(buffer, byteOffset, length);
    default:
      return unreachable(datatype);
  }
}

/** The bytes of what the runtime gave, without a copy. Node runs on little-endian machines only. */
export function bytesOf(elements: Exclude<OnnxElements, readonly string[]>): Uint8Array {
  return new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength);
}

/** Elements of a BYTES tensor as strings. Fails with INVALID_INPUT on what the runtime can't be given. */
export function stringsOf({ bytes, shape }: TensorView, name: string): string[] {
  const count = elementCount(shape);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const strings: string[] = [];
  let at = 0;
  for (let index = 0; index < count; index += 1) {
    if (at + 4 > bytes.length) throw cutOff(name, count, index);
    const end = at + 4 + view.getUint32(at, true);
    if (end > bytes.length) throw cutOff(name, count, index);
    strings.push(decodeString(bytes.subarray(at + 4, end), name, index));
    at = end;
  }
  if (at !== bytes.length) {
    throw invalid(name, `${bytes.length - at} bytes after the last of ${count} elements`, 'none');
  }
  return strings;
}

function decodeString(bytes: Uint8Array, name: string, index: number): string {
  // The runtime takes C strings, which end at the first zero byte: the rest would silently be lost.
  if (bytes.includes(0)) throw invalid(name, `a zero byte in element ${index}`, 'text without zero bytes');
  try {
    return decoder.decode(bytes);
  } catch {
    const shown = Buffer.from(bytes.subarray(0, MAX_SHOWN)).toString('hex');
    throw invalid(name, `element ${index} is the bytes ${shown}`, 'UTF-8');
  }
}

function cutOff(name: string, count: number, index: number): GimbalError {
  return invalid(name, `the bytes end in element ${index}`, `${count} elements, each after its length`);
}

function invalid(name: string, received: string, expected: string): GimbalError {
  return new GimbalError(
    'INVALID_INPUT',
    `Cannot read the input "${name}": ${received}, expected ${expected}`,
    { fields: [{ pointer: `/inputs/${escapePointer(name)}`, expected, received }] },
  );
}

function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Strings as the bytes of a BYTES tensor. */
export function bytesOfStrings(strings: readonly string[]): Uint8Array {
  const encoded = strings.map((text) => encoder.encode(text));
  const bytes = new Uint8Array(encoded.reduce((total, element) => total + 4 + element.length, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const element of encoded) {
    view.setUint32(at, element.length, true);
    bytes.set(element, at + 4);
    at += 4 + element.length;
  }
  return bytes;
}
