import { MAX_NUMBER_BYTES, writeAscii, writeFloat32, writeFloat64, writeInteger } from './number-text.ts';
import { encodeUtf8 } from './utf8.ts';

/** Texts are cut from slabs of this size: one allocation serves hundreds of small answers. */
const SLAB_BYTES = 64 * 1024;

/** Up to here a loop copies faster than a call of `set`. */
const MAX_LOOPED_BYTES = 48;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_PRINTABLE = 0x20;
const HEX = '0123456789abcdef';

/**
 * Writes UTF-8 JSON straight into memory. `begin` starts a text, `finish` gives it as a view that stays valid: a slab is
 * never written twice, and lives as long as a view of it does.
 */
export class JsonText {
  #slab = new Uint8Array(SLAB_BYTES);
  #start = 0;
  #end = 0;

  begin(): void {
    this.#start = this.#end;
  }

  finish(): Uint8Array {
    const text = this.#slab.subarray(this.#start, this.#end);
    this.#start = this.#end;
    return text;
  }

  /** Bytes of the text so far. */
  get length(): number {
    return this.#end - this.#start;
  }

  /** ASCII known to need no escapes: punctuation and member names. */
  ascii(text: string): void {
    this.#makeRoom(text.length);
    this.#end = writeAscii(this.#slab, this.#end, text);
  }

  /** JSON that was rendered before. */
  raw(json: Uint8Array): void {
    const { length } = json;
    this.#makeRoom(length);
    if (length > MAX_LOOPED_BYTES) this.#slab.set(json, this.#end);
    else {
      for (let index = 0; index < length; index += 1) this.#slab[this.#end + index] = json[index] as number;
    }
    this.#end += length;
  }

  /** One ASCII character by its code. */
  character(code: number): void {
    this.#makeRoom(1);
    this.#slab[this.#end] = code;
    this.#end += 1;
  }

  /** Any string, in quotes, escaped. */
  string(text: string): void {
    if (!isPlainText(text)) {
      this.utf8String(encodeUtf8(text));
      return;
    }
    this.#makeRoom(text.length + 2);
    this.#slab[this.#end] = QUOTE;
    const end = writeAscii(this.#slab, this.#end + 1, text);
    this.#slab[end] = QUOTE;
    this.#end = end + 1;
  }

  /** Well-formed UTF-8 as a string, in quotes, escaped. */
  utf8String(bytes: Uint8Array): void {
    this.character(QUOTE);
    let start = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      if (byte >= FIRST_PRINTABLE && byte !== QUOTE && byte !== BACKSLASH) continue;
      if (at > start) this.raw(bytes.subarray(start, at));
      this.#escape(byte);
      start = at + 1;
    }
    if (start < bytes.length) this.raw(start === 0 ? bytes : bytes.subarray(start));
    this.character(QUOTE);
  }

  /** A finite number as the shortest decimal of its float32. */
  float32(value: number): void {
    this.#makeRoom(MAX_NUMBER_BYTES);
    this.#end = writeFloat32(this.#slab, this.#end, value);
  }

  /** A finite number as the shortest decimal of its double. */
  float64(value: number): void {
    this.#makeRoom(MAX_NUMBER_BYTES);
    this.#end = writeFloat64(this.#slab, this.#end, value);
  }

  /** A safe integer. */
  integer(value: number): void {
    this.#makeRoom(MAX_NUMBER_BYTES);
    this.#end = writeInteger(this.#slab, this.#end, value);
  }

  #escape(byte: number): void {
    if (byte === QUOTE) this.ascii('\\"');
    else if (byte === BACKSLASH) this.ascii('\\\\');
    else if (byte === 0x0a) this.ascii('\\n');
    else if (byte === 0x0d) this.ascii('\\r');
    else if (byte === 0x09) this.ascii('\\t');
    else this.ascii(`\\u00${HEX.charAt(byte >>> 4)}${HEX.charAt(byte & 15)}`);
  }

  #makeRoom(byteLength: number): void {
    if (this.#end + byteLength <= this.#slab.length) return;
    const written = this.#end - this.#start;
    const slab = new Uint8Array(Math.max(SLAB_BYTES, 2 * (written + byteLength)));
    slab.set(this.#slab.subarray(this.#start, this.#end));
    this.#slab = slab;
    this.#start = 0;
    this.#end = written;
  }
}

/** Whether a string can stand between quotes as it is, one byte a character. */
function isPlainText(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < FIRST_PRINTABLE || code > 0x7e || code === QUOTE || code === BACKSLASH) return false;
  }
  return true;
}
