/** Characters that are made into a string at a time: engines limit the arguments of a call. */
const CHARACTERS_AT_ONCE = 4096;

const SCRATCH = new Uint16Array(CHARACTERS_AT_ONCE);

/** Length of the UTF-8 sequence at `at`, or 0 when there is no valid one (overlong, surrogate, cut off). */
export function utf8SequenceLength(bytes: Uint8Array, at: number, end: number): number {
  const first = bytes[at] as number;
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (at + length > end) return 0;
  const second = bytes[at + 1] as number;
  // The first continuation byte's range shuts out overlong forms, surrogates and what is past U+10FFFF (RFC 3629).
  const low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (second < low || second > high) return 0;
  for (let index = at + 2; index < at + length; index += 1) {
    if (((bytes[index] as number) & 0xc0) !== 0x80) return 0;
  }
  return length;
}

/** Whether bytes are well-formed UTF-8. */
export function isUtf8(bytes: Uint8Array, start = 0, end = bytes.length): boolean {
  let at = start;
  while (at < end) {
    const length = utf8SequenceLength(bytes, at, end);
    if (length === 0) return false;
    at += length;
  }
  return true;
}

/** Well-formed UTF-8 as a string; what is not well-formed becomes U+FFFD. */
export function decodeUtf8(bytes: Uint8Array, start = 0, end = bytes.length): string {
  let text = '';
  let fill = 0;
  let at = start;
  while (at < end) {
    if (fill > CHARACTERS_AT_ONCE - 2) {
      text += charactersOf(fill);
      fill = 0;
    }
    const length = utf8SequenceLength(bytes, at, end);
    const codePoint = length === 0 ? 0xfffd : codePointAt(bytes, at, length);
    if (codePoint < 0x10000) SCRATCH[fill++] = codePoint;
    else {
      SCRATCH[fill++] = 0xd7c0 + (codePoint >>> 10);
      SCRATCH[fill++] = 0xdc00 + (codePoint & 0x3ff);
    }
    at += Math.max(1, length);
  }
  return text + charactersOf(fill);
}

/** Writes a code point as UTF-8 and returns where it ends; room for four bytes is the caller's promise. */
export function writeCodePoint(target: Uint8Array, at: number, codePoint: number): number {
  if (codePoint < 0x80) {
    target[at] = codePoint;
    return at + 1;
  }
  if (codePoint < 0x800) {
    target[at] = 0xc0 | (codePoint >>> 6);
    target[at + 1] = 0x80 | (codePoint & 0x3f);
    return at + 2;
  }
  if (codePoint < 0x10000) {
    target[at] = 0xe0 | (codePoint >>> 12);
    target[at + 1] = 0x80 | ((codePoint >>> 6) & 0x3f);
    target[at + 2] = 0x80 | (codePoint & 0x3f);
    return at + 3;
  }
  target[at] = 0xf0 | (codePoint >>> 18);
  target[at + 1] = 0x80 | ((codePoint >>> 12) & 0x3f);
  target[at + 2] = 0x80 | ((codePoint >>> 6) & 0x3f);
  target[at + 3] = 0x80 | (codePoint & 0x3f);
  return at + 4;
}

/** A string as UTF-8; lone surrogates become U+FFFD. */
export function encodeUtf8(text: string): Uint8Array {
  const room = new Uint8Array(text.length * 3);
  let at = 0;
  for (const character of text) {
    const codePoint = character.codePointAt(0) ?? 0xfffd;
    at = writeCodePoint(room, at, codePoint >= 0xd800 && codePoint <= 0xdfff ? 0xfffd : codePoint);
  }
  return room.slice(0, at);
}

function codePointAt(bytes: Uint8Array, at: number, length: number): number {
  const first = bytes[at] as number;
  if (length === 1) return first;
  let codePoint = first & (0xff >>> (length + 1));
  for (let index = at + 1; index < at + length; index += 1) {
    codePoint = (codePoint << 6) | ((bytes[index] as number) & 0x3f);
  }
  return codePoint;
}

function charactersOf(count: number): string {
  return String.fromCharCode.apply(null, SCRATCH.subarray(0, count) as unknown as number[]);
}
