/** Room that a buffer begins with. */
const FIRST_BYTES = 1024;

/** A kept buffer never holds more than this between uses, so that one big request doesn't own memory for ever. */
const KEPT_BYTES = 1024 * 1024;

/** Bytes that grow at the end, in memory that is reused: what `bytes` views is valid until `clear`. */
export class ByteBuffer {
  #room = new Uint8Array(FIRST_BYTES);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** A view of what was written. */
  get bytes(): Uint8Array {
    return this.#room.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
    if (this.#room.length > KEPT_BYTES) this.#room = new Uint8Array(FIRST_BYTES);
  }

  push(byte: number): void {
    if (this.#length === this.#room.length) this.#grow(1);
    this.#room[this.#length] = byte;
    this.#length += 1;
  }

  append(bytes: Uint8Array, start: number, end: number): void {
    const length = end - start;
    if (this.#length + length > this.#room.length) this.#grow(length);
    if (length < 32) {
      for (let index = 0; index < length; index += 1) {
        this.#room[this.#length + index] = bytes[start + index] as number;
      }
    } else this.#room.set(bytes.subarray(start, end), this.#length);
    this.#length += length;
  }

  /** Writable view of `byteLength` fresh bytes at the end; valid until the next growth. */
  extend(byteLength: number): Uint8Array {
    if (this.#length + byteLength > this.#room.length) this.#grow(byteLength);
    const from = this.#length;
    this.#length += byteLength;
    return this.#room.subarray(from, this.#length);
  }

  /** Overwrites four bytes, little endian: a length that is known only now. */
  setUint32(at: number, value: number): void {
    this.#room[at] = value & 0xff;
    this.#room[at + 1] = (value >>> 8) & 0xff;
    this.#room[at + 2] = (value >>> 16) & 0xff;
    this.#room[at + 3] = value >>> 24;
  }

  #grow(byteLength: number): void {
    const room = new Uint8Array(Math.max(2 * this.#room.length, this.#length + byteLength));
    room.set(this.#room.subarray(0, this.#length));
    this.#room = room;
  }
}
