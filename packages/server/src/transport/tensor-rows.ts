import type { Datatype } from '@gimbal/core';

/** A tensor's bytes and shape, wherever they lie. */
export interface TensorView {
  readonly bytes: Uint8Array;
  readonly shape: readonly number[];
}

/** Thrown when the bytes of a BYTES tensor do not hold the elements that its shape promises. */
export class BrokenElements extends Error {
  override readonly name = 'BrokenElements';
}

export function elementCount(shape: readonly number[]): number {
  let count = 1;
  for (let axis = 0; axis < shape.length; axis += 1) count *= shape[axis] as number;
  return count;
}

/** Some rows of a tensor (its first axis), as a view of the same memory. Throws BrokenElements. */
export function rowsOf(
  tensor: TensorView,
  datatype: Datatype,
  { first, rows }: { first: number; rows: number },
): TensorView {
  const total = tensor.shape[0] ?? 1;
  const shape = [rows, ...tensor.shape.slice(1)];
  if (first < 0 || rows < 0 || first + rows > total) {
    throw new BrokenElements(`rows ${first} to ${first + rows} of a tensor with ${total} rows`);
  }
  if (total === 0) return { bytes: tensor.bytes, shape };
  if (datatype === 'BYTES') {
    const perRow = elementCount(tensor.shape) / total;
    const start = skipElements(tensor.bytes, 0, first * perRow);
    const end = skipElements(tensor.bytes, start, rows * perRow);
    return { bytes: tensor.bytes.subarray(start, end), shape };
  }
  const rowBytes = tensor.bytes.length / total;
  return { bytes: tensor.bytes.subarray(first * rowBytes, (first + rows) * rowBytes), shape };
}

/** Where the element after `count` elements of a BYTES tensor starts: each is a uint32 length and as many bytes. */
function skipElements(bytes: Uint8Array, from: number, count: number): number {
  let at = from;
  for (let element = 0; element < count; element += 1) {
    if (at + 4 > bytes.length) throw new BrokenElements('the elements end before their number is complete');
    const length =
      ((bytes[at] as number) |
        ((bytes[at + 1] as number) << 8) |
        ((bytes[at + 2] as number) << 16) |
        ((bytes[at + 3] as number) << 24)) >>>
      0;
    at += 4 + length;
  }
  if (at > bytes.length) throw new BrokenElements('the last element is cut off');
  return at;
}
