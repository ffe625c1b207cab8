/** The type that the first bytes of a picture tell; undefined when they are no picture's. */
export function imageTypeOf(bytes: Uint8Array): string | undefined {
  if (starts(bytes, 0, [0xff, 0xd8, 0xff])) return 'image/jpeg';
  if (starts(bytes, 0, [0x89, 0x50, 0x4e, 0x47])) return 'image/png';
  if (starts(bytes, 0, [0x47, 0x49, 0x46, 0x38])) return 'image/gif';
  if (starts(bytes, 0, [0x52, 0x49, 0x46, 0x46]) && starts(bytes, 8, [0x57, 0x45, 0x42, 0x50]))
    return 'image/webp';
  if (starts(bytes, 4, [0x66, 0x74, 0x79, 0x70, 0x61, 0x76, 0x69])) return 'image/avif';
  return undefined;
}

function starts(bytes: Uint8Array, at: number, expected: readonly number[]): boolean {
  return expected.every((byte, index) => bytes[at + index] === byte);
}
