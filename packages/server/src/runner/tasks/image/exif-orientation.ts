const ORIENTATION_TAG = 0x0112;
const TIFF_HEADER_BYTES = 8;
const ENTRY_BYTES = 12;
/** Entries of the directory that are looked at; cameras write a few dozen. */
const MAX_ENTRIES = 256;

/**
 * Orientation, 1 to 8, from the first directory of an EXIF block that begins with its TIFF header (CIPA DC-008, 4.6.2).
 * Undefined when it has none.
 */
export function readExifOrientation(block: Uint8Array): number | undefined {
  if (block.length < TIFF_HEADER_BYTES) return undefined;
  const tiff = new DataView(block.buffer, block.byteOffset, block.byteLength);
  const littleEndian = tiff.getUint16(0) === 0x4949;
  const directoryAt = tiff.getUint32(4, littleEndian);
  if (directoryAt + 2 > tiff.byteLength) return undefined;
  const entries = Math.min(tiff.getUint16(directoryAt, littleEndian), MAX_ENTRIES);
  for (let index = 0; index < entries; index += 1) {
    const entryAt = directoryAt + 2 + index * ENTRY_BYTES;
    if (entryAt + ENTRY_BYTES > tiff.byteLength) return undefined;
    if (tiff.getUint16(entryAt, littleEndian) !== ORIENTATION_TAG) continue;
    const value = tiff.getUint16(entryAt + 8, littleEndian);
    return value >= 1 && value <= 8 ? value : undefined;
  }
  return undefined;
}
