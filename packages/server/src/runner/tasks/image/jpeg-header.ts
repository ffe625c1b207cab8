import { readExifOrientation } from './exif-orientation.ts';

/** What a JPEG file says about itself before its first scan. */
export interface JpegHeader {
  /** As stored, before the EXIF orientation is applied. */
  readonly width: number;
  readonly height: number;
  /** 1 grey, 3 colour, 4 CMYK or YCCK. */
  readonly components: number;
  /** EXIF orientation, 1 to 8; 1 when it is missing or nonsense. */
  readonly orientation: number;
  /** Whether an end-of-image marker follows the first scan: its absence means that the file was cut off. */
  readonly complete: boolean;
}

const START_OF_SCAN = 0xda;
const END_OF_IMAGE = 0xd9;
const APP1 = 0xe1;
const END_OF_IMAGE_MARKER = Buffer.from([0xff, END_OF_IMAGE]);

/**
 * Reads the markers up to the first scan (ITU-T T.81, annex B). Asking the image library for the same costs 0.2 ms, a
 * tenth of the whole decoding of a 512 × 512 photo; this costs under a microsecond. Undefined for what is no JPEG file.
 */
export function readJpegHeader(bytes: Uint8Array): JpegHeader | undefined {
  let at = 2;
  let orientation = 1;
  let frame: { width: number; height: number; components: number } | undefined;
  while (at + 4 <= bytes.length) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes[at + 1] ?? 0;
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    if (hasNoLength(marker)) {
      at += 2;
      continue;
    }
    const length = u16(bytes, at + 2);
    if (length < 2) return undefined;
    if (marker === START_OF_SCAN) {
      if (frame === undefined) return undefined;
      return { ...frame, orientation, complete: hasEndAfter(bytes, at) };
    }
    if (isFrame(marker) && length >= 8) {
      frame = {
        height: u16(bytes, at + 5),
        width: u16(bytes, at + 7),
        components: bytes[at + 9] ?? 0,
      };
    }
    if (marker === APP1)
      orientation = readOrientation(bytes.subarray(at + 4, at + 2 + length)) ?? orientation;
    at += 2 + length;
  }
  return undefined;
}

/** Inside a scan 0xff is always stuffed, so the two bytes of the marker can only be the marker. */
function hasEndAfter(bytes: Uint8Array, scanAt: number): boolean {
  const scan = Buffer.from(bytes.buffer, bytes.byteOffset + scanAt, bytes.length - scanAt);
  return scan.lastIndexOf(END_OF_IMAGE_MARKER) >= 0;
}

/** Start-of-frame markers of all processes; C4, C8 and CC in their range are tables. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

function hasNoLength(marker: number): boolean {
  return marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8);
}

/** The EXIF block behind its "Exif" marker; other blocks in the same segment (XMP) say nothing. */
function readOrientation(block: Uint8Array): number | undefined {
  const isExif = block[0] === 0x45 && block[1] === 0x78 && block[2] === 0x69 && block[3] === 0x66;
  return isExif ? readExifOrientation(block.subarray(6)) : undefined;
}

function u16(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}
