import { decodeUtf8 } from './utf8.ts';

/** Pointers are for people: keys in them are cut off here. */
const MAX_KEY_BYTES = 64;

interface Place {
  readonly isObject: boolean;
  /** Inside an object, the member's name. */
  key: string;
  /** Inside an array, the item's index. */
  index: number;
  expectsKey: boolean;
}

/**
 * The JSON pointer (RFC 6901) of the value that begins at a byte. Scanners keep no track of where they are, so that
 * good input pays nothing; for bad input the text is walked again up to the place.
 */
export function jsonPointerAt(bytes: Uint8Array, position: number): string {
  const places: Place[] = [];
  let at = 0;
  while (at < position) {
    const byte = bytes[at];
    const place = places.at(-1);
    if (byte === 0x22) {
      const end = stringEnd(bytes, at);
      if (place?.isObject && place.expectsKey && end <= position) place.key = keyOf(bytes, at + 1, end - 1);
      at = end;
      continue;
    }
    if (byte === 0x7b || byte === 0x5b) {
      places.push({ isObject: byte === 0x7b, key: '', index: 0, expectsKey: true });
    } else if (byte === 0x7d || byte === 0x5d) places.pop();
    else if (byte === 0x3a && place) place.expectsKey = false;
    else if (byte === 0x2c && place) {
      place.index += 1;
      place.expectsKey = true;
    }
    at += 1;
  }
  return places.map(segmentOf).join('');
}

/** One part of a pointer, escaped. */
export function pointerSegment(name: string | number): string {
  return `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function segmentOf(place: Place): string {
  if (!place.isObject) return pointerSegment(place.index);
  return place.expectsKey ? '' : pointerSegment(place.key);
}

/** The byte after the closing quote. */
function stringEnd(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== 0x22) at += bytes[at] === 0x5c ? 2 : 1;
  return at + 1;
}

function keyOf(bytes: Uint8Array, start: number, end: number): string {
  const text = decodeUtf8(bytes, start, Math.min(end, start + MAX_KEY_BYTES));
  return end - start > MAX_KEY_BYTES ? `${text}…` : text;
}
