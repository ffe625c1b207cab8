import { MAX_NUMBER_BYTES, writeAscii, writeFloat32, writeInteger } from './float32-text.ts';

/** Answers are cut from slabs of this size: one allocation serves hundreds of small answers. */
const SLAB_BYTES = 64 * 1024;

/** Up to here a loop copies faster than a call of `set`. */
const MAX_LOOPED_BYTES = 48;

/** Numbers for which room is made in one go. */
const NUMBERS_AT_ONCE = 512;

const OPEN = 0x5b;
const CLOSE = 0x5d;
const COMMA = 0x2c;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_PRINTABLE = 0x20;

/**
 * Writes UTF-8 JSON straight into memory. `begin` starts an answer and `finish` gives it as a view that stays valid: a
 * slab is never written twice, and lives as long as a view of it does.
 */
export class JsonWriter {
  #slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
  #start = 0;
  #end = 0;

  begin(): void {
    this.#start = this.#end;
  }

  finish(): Uint8Array {
    return this.#slab.subarray(this.#start, this.#end);
  }

  /** ASCII known to need no escapes: punctuation and member names. */
  ascii(text: string): void {
    this.#reserve(text.length);
    this.#end = writeAscii(this.#slab, this.#end, text);
  }

  /** JSON that was rendered before. */
  raw(json: Uint8Array): void {
    const length = json.length;
    this.#reserve(length);
    if (length > MAX_LOOPED_BYTES) this.#slab.set(json, this.#end);
    else
      for (let index = 0; index < length; index += 1) this.#slab[this.#end + index] = json[index] as number;
    this.#end += length;
  }

  /** One ASCII character by its code. */
  character(code: number): void {
    this.#reserve(1);
    this.#slab[this.#end] = code;
    this.#end += 1;
  }

  float32(value: number): void {
    this.#reserve(MAX_NUMBER_BYTES);
    this.#end = writeFloat32(this.#slab, this.#end, value);
  }

  /** `count` float32 numbers from `from` on, in brackets. */
  float32Array(values: ArrayLike<number>, from: number, count: number): void {
    this.character(OPEN);
    for (let start = 0; start < count; start += NUMBERS_AT_ONCE) {
      const end = Math.min(count, start + NUMBERS_AT_ONCE);
      this.#reserve((end - start) * (MAX_NUMBER_BYTES + 1));
      const slab = this.#slab;
      let to = this.#end;
      for (let index = start; index < end; index += 1) {
        if (index > 0) {
          slab[to] = COMMA;
          to += 1;
        }
        to = writeFloat32(slab, to, values[from + index] as number);
      }
      this.#end = to;
    }
    this.character(CLOSE);
  }

  float64(value: number): void {
    if (Number.isFinite(value)) this.ascii(Object.is(value, -0) ? '-0' : String(value));
    else this.ascii('null');
  }

  integer(value: number): void {
    this.#reserve(MAX_NUMBER_BYTES);
    this.#end = writeInteger(this.#slab, this.#end, value);
  }

  /** Bytes of UTF-8 as a JSON string; what is not valid UTF-8 becomes replacement characters. */
  utf8String(bytes: Uint8Array): void {
    if (!isPlainAscii(bytes)) {
      const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
      this.raw(Buffer.from(JSON.stringify(text)));
      return;
    }
    this.character(QUOTE);
    this.raw(bytes);
    this.character(QUOTE);
  }

  #reserve(byteLength: number): void {
    if (this.#end + byteLength <= this.#slab.length) return;
    const written = this.#end - this.#start;
    const slab = Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, 2 * (written + byteLength)));
    slab.set(this.#slab.subarray(this.#start, this.#end));
    this.#slab = slab;
    this.#start = 0;
    this.#end = written;
  }
}

/** Whether bytes can stand between quotes as they are. */
function isPlainAscii(bytes: Uint8Array): boolean {
  for (const byte of bytes) {
    if (byte < FIRST_PRINTABLE || byte > 0x7e || byte === QUOTE || byte === BACKSLASH) return false;
  }
  return true;
}
