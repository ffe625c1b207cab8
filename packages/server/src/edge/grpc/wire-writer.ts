const FIRST_BYTES = 256;

/** Writes small protobuf messages: heads, statuses. Tensors never pass through it. */
export class WireWriter {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #length = 0;

  /** What was written; the writer must not be used again. */
  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** A varint field; 0 is written too. `value` is a safe integer; negative ones take ten bytes, as int64 has them. */
  integer(field: number, value: number): void {
    this.#varint(field << 3);
    this.#varint(value);
  }

  bool(field: number, value: boolean): void {
    this.integer(field, value ? 1 : 0);
  }

  /** Empty texts are left out, as proto3 has it. */
  text(field: number, value: string): void {
    if (value === '') return;
    const byteLength = Buffer.byteLength(value);
    this.head(field, byteLength);
    this.#room(byteLength);
    this.#length += this.#bytes.write(value, this.#length);
  }

  message(field: number, bytes: Uint8Array): void {
    this.head(field, bytes.length);
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Tag and length of a byte string that follows elsewhere. */
  head(field: number, byteLength: number): void {
    this.#varint((field << 3) | 2);
    this.#varint(byteLength);
  }

  /** A packed list of int64. */
  integers(field: number, values: readonly number[]): void {
    if (values.length === 0) return;
    this.head(
      field,
      values.reduce((sum, value) => sum + varintLength(value), 0),
    );
    for (const value of values) this.#varint(value);
  }

  #varint(value: number): void {
    this.#room(10);
    if (value < 0) {
      this.#negative(BigInt.asUintN(64, BigInt(value)));
      return;
    }
    let rest = value;
    while (rest > 0x7f) {
      this.#bytes[this.#length] = (rest % 128) + 128;
      this.#length += 1;
      rest = Math.floor(rest / 128);
    }
    this.#bytes[this.#length] = rest;
    this.#length += 1;
  }

  #negative(value: bigint): void {
    let rest = value;
    while (rest > 0x7fn) {
      this.#bytes[this.#length] = Number(rest & 0x7fn) | 0x80;
      this.#length += 1;
      rest >>= 7n;
    }
    this.#bytes[this.#length] = Number(rest);
    this.#length += 1;
  }

  #room(byteLength: number): void {
    const needed = this.#length + byteLength;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

/** Bytes of a varint. */
function varintLength(value: number): number {
  if (value < 0) return 10;
  let length = 1;
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 128)) length += 1;
  return length;
}
