import { GimbalError } from '@gimbal/core';

/** Wire types of protobuf, https://protobuf.dev/programming-guides/encoding/#structure */
export const VARINT = 0;
export const FIXED64 = 1;
export const DELIMITED = 2;
export const FIXED32 = 5;

/** Bytes of the longest varint: 64 bits, seven to a byte. */
export const MAX_VARINT_BYTES = 10;

const TWO_32 = 4294967296;

/**
 * Reads one protobuf message. Byte strings are views of the message, never copies. Everything that is wrong with the
 * bytes is MALFORMED_REQUEST.
 */
export class WireReader {
  readonly #bytes: Buffer;
  readonly #end: number;
  #at: number;
  #high = 0;

  constructor(bytes: Buffer, from = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#at = from;
    this.#end = end;
  }

  get ended(): boolean {
    return this.#at === this.#end;
  }

  /** Upper 32 bits of the varint or fixed64 that was read last. */
  get high(): number {
    return this.#high;
  }

  /** Field number and wire type of the next field, as `number << 3 | type`; 0 at the end. */
  next(): number {
    if (this.#at === this.#end) return 0;
    const tag = this.varint();
    if (tag < 8 || this.#high !== 0) throw broken(`${tag} is no tag of a field`);
    return tag;
  }

  /** Lower 32 bits of a varint, unsigned; `high` has the others. */
  varint(): number {
    const bytes = this.#bytes;
    let low = 0;
    let high = 0;
    for (let index = 0; index < MAX_VARINT_BYTES; index += 1) {
      if (this.#at >= this.#end) throw broken('it ends inside a number');
      const byte = bytes[this.#at] as number;
      this.#at += 1;
      const bits = byte & 0x7f;
      if (index < 4) low |= bits << (7 * index);
      else if (index === 4) {
        low |= bits << 28;
        high = bits >>> 4;
      } else high |= bits << (7 * index - 32);
      if (byte < 0x80) {
        this.#high = high >>> 0;
        return low >>> 0;
      }
    }
    throw broken('a number has more than 64 bits');
  }

  /** A signed 64-bit number; past 2^53 rounded, which is enough for what is compared with a limit. */
  int64(): number {
    const low = this.varint();
    return (this.#high | 0) * TWO_32 + low;
  }

  /** An unsigned 64-bit number, likewise. */
  uint64(): number {
    const low = this.varint();
    return this.#high * TWO_32 + low;
  }

  bool(): boolean {
    const low = this.varint();
    return low !== 0 || this.#high !== 0;
  }

  double(): number {
    const at = this.#take(8);
    return this.#bytes.readDoubleLE(at);
  }

  /** A view of a byte string or an embedded message. */
  bytes(): Buffer {
    const length = this.#length();
    const at = this.#take(length);
    return this.#bytes.subarray(at, at + length);
  }

  text(): string {
    const length = this.#length();
    const at = this.#take(length);
    return this.#bytes.toString('utf8', at, at + length);
  }

  /** A reader of an embedded message. */
  message(): WireReader {
    const length = this.#length();
    const at = this.#take(length);
    return new WireReader(this.#bytes, at, at + length);
  }

  /** Past a field that is not known here. */
  skip(tag: number): void {
    switch (tag & 7) {
      case VARINT:
        this.varint();
        return;
      case FIXED64:
        this.#take(8);
        return;
      case DELIMITED:
        this.#take(this.#length());
        return;
      case FIXED32:
        this.#take(4);
        return;
      default:
        throw broken(`field ${tag >>> 3} has the wire type ${tag & 7}, expected one of proto3`);
    }
  }

  /** A view of the value of a field of any type, without the length of a delimited one. */
  value(tag: number): Buffer {
    if ((tag & 7) === DELIMITED) return this.bytes();
    const from = this.#at;
    this.skip(tag);
    return this.#bytes.subarray(from, this.#at);
  }

  #length(): number {
    const length = this.varint();
    return this.#high === 0 ? length : Number.MAX_SAFE_INTEGER;
  }

  #take(length: number): number {
    const at = this.#at;
    if (length > this.#end - at) throw broken(`a field of ${length} bytes has only ${this.#end - at} left`);
    this.#at = at + length;
    return at;
  }
}

export function broken(what: string): GimbalError {
  return new GimbalError('MALFORMED_REQUEST', `Cannot read the message: ${what}, expected protobuf`);
}
