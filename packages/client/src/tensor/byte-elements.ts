/** A BYTES tensor on the wire: before each element its length, an unsigned 32-bit number, little endian. */

const LENGTH_BYTES = 4;

export function packElements(elements: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
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

/** The elements as views of the bytes; undefined when the bytes do not hold exactly `count` of them. */
export function unpackElements(bytes: Uint8Array, count: number): Uint8Array[] | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const elements: Uint8Array[] = [];
  let at = 0;
  while (at + LENGTH_BYTES <= bytes.length && elements.length < count) {
    const start = at + LENGTH_BYTES;
    const end = start + view.getUint32(at, true);
    if (end > bytes.length) return undefined;
    elements.push(bytes.subarray(start, end));
    at = end;
  }
  return elements.length === count && at === bytes.length ? elements : undefined;
}
