import { decodeUtf8 } from './utf8.ts';

/** Each element of a BYTES tensor has its length before it: an unsigned 32-bit number, little endian. */
export const LENGTH_BYTES = 4;

/** What is wrong with the bytes of a BYTES tensor, for people; undefined when they hold exactly `count` elements. */
export function bytesTensorFault(bytes: Uint8Array, count: number): string | undefined {
  let at = 0;
  for (let element = 0; element < count; element += 1) {
    if (at === bytes.length) return `expected ${count} elements, got ${element}`;
    if (at + LENGTH_BYTES > bytes.length) {
      return `expected 4 bytes of length before element ${element}, got ${bytes.length - at}`;
    }
    const length = lengthAt(bytes, at);
    const left = bytes.length - at - LENGTH_BYTES;
    if (length > left) return `expected ${length} bytes of element ${element}, got ${left}`;
    at += LENGTH_BYTES + length;
  }
  if (at === bytes.length) return undefined;
  return `expected ${count} elements, got ${bytes.length - at} more bytes`;
}

/** Shows every element in turn, as a view. The bytes must be known to be good (`bytesTensorFault`). */
export function walkBytesTensor(
  bytes: Uint8Array,
  visit: (element: Uint8Array, index: number) => void,
): void {
  let at = 0;
  let index = 0;
  while (at + LENGTH_BYTES <= bytes.length) {
    const start = at + LENGTH_BYTES;
    const end = start + lengthAt(bytes, at);
    visit(bytes.subarray(start, end), index);
    at = end;
    index += 1;
  }
}

/** Elements of the tensor as text, for small tensors and tests. */
export function bytesTensorTexts(bytes: Uint8Array): string[] {
  const texts: string[] = [];
  walkBytesTensor(bytes, (element) => texts.push(decodeUtf8(element)));
  return texts;
}

/** A BYTES tensor of elements. */
export function bytesTensorOf(elements: readonly Uint8Array[]): Uint8Array {
  const byteLength = elements.reduce((sum, element) => sum + LENGTH_BYTES + element.length, 0);
  const bytes = new Uint8Array(byteLength);
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const element of elements) {
    view.setUint32(at, element.length, true);
    bytes.set(element, at + LENGTH_BYTES);
    at += LENGTH_BYTES + element.length;
  }
  return bytes;
}

function lengthAt(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24)) >>>
    0
  );
}
