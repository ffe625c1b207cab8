/** Slots of the table. A name that falls on a taken slot replaces what was there, so the table never grows. */
const SLOTS = 512;

const names: string[] = new Array<string>(SLOTS).fill('');

/** Longer texts are not names: they would only push names out. */
export const MAX_NAME_BYTES = 40;

/**
 * The string of ASCII bytes. The same few names (members, tensors, datatypes) come in every request: comparing with the
 * string made last time costs a third of making it anew.
 */
export function internName(bytes: Uint8Array, start: number, end: number): string {
  const length = end - start;
  if (length > MAX_NAME_BYTES) return asciiOf(bytes, start, end);
  let hash = length;
  for (let at = start; at < end; at += 1) hash = (Math.imul(hash, 31) + (bytes[at] as number)) | 0;
  const slot = (hash ^ (hash >>> 11)) & (SLOTS - 1);
  const known = names[slot] as string;
  if (known.length === length && isSame(known, bytes, start)) return known;
  const name = asciiOf(bytes, start, end);
  names[slot] = name;
  return name;
}

function isSame(name: string, bytes: Uint8Array, start: number): boolean {
  for (let index = 0; index < name.length; index += 1) {
    if (name.charCodeAt(index) !== bytes[start + index]) return false;
  }
  return true;
}

/** Bytes at a time: engines limit the arguments of a call. */
const AT_ONCE = 4096;

/** ASCII bytes as a string. */
export function asciiOf(bytes: Uint8Array, start: number, end: number): string {
  let text = '';
  for (let at = start; at < end; at += AT_ONCE) {
    text += String.fromCharCode.apply(
      null,
      bytes.subarray(at, Math.min(end, at + AT_ONCE)) as unknown as number[],
    );
  }
  return text;
}
