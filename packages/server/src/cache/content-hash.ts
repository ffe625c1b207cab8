import { createHash } from 'node:crypto';

/**
 * SHA-256, hex, of a frame and the bytes that it frames; nothing is copied. The frame is JSON after its own length in
 * UTF-16 units, and says how long each of the bytes is: whoever knows the format can take the hashed text apart in one
 * way only, so different requests never hash the same text.
 */
export function hashContent(frame: readonly unknown[], bytes: readonly Uint8Array[]): string {
  const text = JSON.stringify(frame);
  const hash = createHash('sha256').update(`${text.length}:${text}`);
  for (const part of bytes) hash.update(part);
  return hash.digest('hex');
}
