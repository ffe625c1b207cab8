/** Formats that runners decode. Everything else is refused before any decoder sees a byte. */
export type ImageFormat = 'jpeg' | 'png' | 'webp' | 'gif' | 'avif' | 'tiff';

/** For error messages: what a client may send instead. */
export const ACCEPTED_FORMATS = 'JPEG, PNG, WebP, GIF, AVIF or TIFF';

/** Bytes from the start of a file within which an ISO media file lists its brands. */
const MAX_BRAND_BYTES = 128;

/** What content is by its first bytes; the name and the declared media type are never believed. */
export function sniffImageFormat(bytes: Uint8Array): ImageFormat | undefined {
  if (startsWith(bytes, 0, [0xff, 0xd8, 0xff])) return 'jpeg';
  if (startsWith(bytes, 0, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])) return 'png';
  if (startsWithText(bytes, 0, 'RIFF') && startsWithText(bytes, 8, 'WEBP')) return 'webp';
  if (startsWithText(bytes, 0, 'GIF87a') || startsWithText(bytes, 0, 'GIF89a')) return 'gif';
  if (startsWith(bytes, 0, [0x49, 0x49, 0x2a, 0x00]) || startsWith(bytes, 0, [0x4d, 0x4d, 0x00, 0x2a])) {
    return 'tiff';
  }
  return isAvif(bytes) ? 'avif' : undefined;
}

/** A guess at what refused content is, for the error message only. */
export function describeForeignContent(bytes: Uint8Array): string {
  if (bytes.length === 0) return 'an empty body';
  if (startsWithText(bytes, 0, '%PDF')) return 'a PDF document';
  if (startsWithText(bytes, 0, 'BM')) return 'a BMP image';
  if (startsWithText(bytes, 4, 'ftyp')) return 'a HEIF image or video of another codec than AV1';
  const start = new TextDecoder('latin1').decode(bytes.subarray(0, 512)).trimStart().toLowerCase();
  if (start.startsWith('<svg') || (start.startsWith('<?xml') && start.includes('<svg')))
    return 'an SVG drawing';
  if (start.startsWith('<')) return 'markup';
  return 'content that is no known image format';
}

/** ISO media files whose major or compatible brands name AVIF (ISO/IEC 23000-22, section 10). */
function isAvif(bytes: Uint8Array): boolean {
  if (!startsWithText(bytes, 4, 'ftyp')) return false;
  const declared = ((bytes[2] ?? 0) << 8) | (bytes[3] ?? 0);
  const end = Math.min(bytes.length, declared, MAX_BRAND_BYTES);
  for (let at = 8; at + 4 <= end; at += 4) {
    if (startsWithText(bytes, at, 'avif') || startsWithText(bytes, at, 'avis')) return true;
  }
  return false;
}

function startsWith(bytes: Uint8Array, at: number, magic: readonly number[]): boolean {
  return magic.every((byte, index) => bytes[at + index] === byte);
}

function startsWithText(bytes: Uint8Array, at: number, text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    if (bytes[at + index] !== text.charCodeAt(index)) return false;
  }
  return true;
}
