/** Names and first bytes of the image formats that people send. */
const SIGNATURES: readonly {
  readonly type: string;
  readonly at: number;
  readonly bytes: readonly number[];
}[] = [
  { type: 'image/jpeg', at: 0, bytes: [0xff, 0xd8, 0xff] },
  { type: 'image/png', at: 0, bytes: [0x89, 0x50, 0x4e, 0x47] },
  { type: 'image/gif', at: 0, bytes: [0x47, 0x49, 0x46, 0x38] },
  { type: 'image/webp', at: 8, bytes: [0x57, 0x45, 0x42, 0x50] },
  { type: 'image/avif', at: 4, bytes: [0x66, 0x74, 0x79, 0x70] },
  { type: 'image/bmp', at: 0, bytes: [0x42, 0x4d] },
  { type: 'image/tiff', at: 0, bytes: [0x49, 0x49, 0x2a, 0x00] },
  { type: 'image/tiff', at: 0, bytes: [0x4d, 0x4d, 0x00, 0x2a] },
];

/** The image format that bytes begin like, undefined when none; a guess for those who sent no type. */
export function imageTypeOf(bytes: Uint8Array): string | undefined {
  return SIGNATURES.find((signature) =>
    signature.bytes.every((byte, index) => bytes[signature.at + index] === byte),
  )?.type;
}
