import { crc32 } from 'node:zlib';
import { readExifOrientation } from './exif-orientation.ts';

/** What a PNG file says about itself, once its structure has been checked. */
export interface PngHeader {
  readonly width: number;
  readonly height: number;
  /** EXIF orientation, 1 to 8; 1 when there is none. */
  readonly orientation: number;
}

const SIGNATURE_BYTES = 8;
/** Length, type and checksum of a chunk. */
const FRAME_BYTES = 12;

/**
 * Walks the chunks of a PNG file and checks every checksum (W3C PNG 3, section 5). The decoder stops reading at the last
 * row that the crop needs, and would so accept a file whose end is missing or damaged. A gigabyte a second: nothing
 * beside the decoding. Undefined when the structure is broken.
 */
export function readPngHeader(bytes: Uint8Array): PngHeader | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let orientation = 1;
  let at = SIGNATURE_BYTES;
  while (at + FRAME_BYTES <= bytes.length) {
    const length = view.getUint32(at);
    const end = at + FRAME_BYTES + length;
    if (end > bytes.length) return undefined;
    if (crc32(bytes.subarray(at + 4, end - 4)) !== view.getUint32(end - 4)) return undefined;
    const type = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    if ((type === 'IHDR') !== (at === SIGNATURE_BYTES)) return undefined;
    if (type === 'eXIf') orientation = readExifOrientation(bytes.subarray(at + 8, end - 4)) ?? orientation;
    if (type === 'IEND') {
      return {
        width: view.getUint32(SIGNATURE_BYTES + 8),
        height: view.getUint32(SIGNATURE_BYTES + 12),
        orientation,
      };
    }
    at = end;
  }
  return undefined;
}
