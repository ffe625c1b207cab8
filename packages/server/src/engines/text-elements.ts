const LENGTH_BYTES = 4;

/** The elements of a BYTES tensor as text. The bytes are known to be good. */
export function textElements(bytes: Uint8Array): string[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const texts: string[] = [];
  for (let at = 0; at + LENGTH_BYTES <= buffer.length; ) {
    const end = at + LENGTH_BYTES + buffer.readUInt32LE(at);
    texts.push(buffer.toString('utf8', at + LENGTH_BYTES, end));
    at = end;
  }
  return texts;
}

/** A BYTES tensor of elements. */
export function textTensor(elements: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(
    elements.flatMap((element) => {
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt32LE(element.length);
      return [length, element];
    }),
  );
}
