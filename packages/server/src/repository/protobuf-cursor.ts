import type { FileHandle } from 'node:fs/promises';
import { GimbalError } from '@gimbal/core';

/** Bytes read at a time. Tensor data is skipped, so even files of gigabytes are read in a few windows. */
const WINDOW_BYTES = 64 * 1024;

/** A tag and a length or value: two varints of at most ten bytes. */
const MAX_FIELD_HEAD_BYTES = 20;
const MAX_VARINT_BYTES = 10;

/** The largest published graphs have some 100,000 operators of about 15 fields; beyond this nobody waits. */
const MAX_FIELDS = 5_000_000;

/** Longest name, path or operator type that is read. */
const MAX_TEXT_BYTES = 4_096;

export const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** The field that the cursor stands in. `end` is where its content ends. */
export interface ProtobufField {
  readonly number: number;
  readonly wire: number;
  /** Of a varint field; 0 for others. */
  readonly value: number;
  readonly end: number;
}

/**
 * Walks a protobuf file without loading it and without trusting it: every length is checked against its parent and
 * the file, every loop advances, and content that nobody asks for is skipped unread.
 */
export class ProtobufCursor {
  readonly size: number;
  readonly #file: FileHandle;
  readonly #window = Buffer.allocUnsafeSlow(WINDOW_BYTES);
  #windowStart = 0;
  #windowBytes = 0;
  #position = 0;
  #fields = 0;

  constructor(file: FileHandle, size: number) {
    this.#file = file;
    this.size = size;
  }

  get position(): number {
    return this.#position;
  }

  /** Calls `visit` for each field up to `end`; what a visitor does not read of its field is skipped. */
  async eachField(end: number, visit: (field: ProtobufField) => Promise<void> | undefined): Promise<void> {
    while (this.#position < end) {
      const wanted = Math.min(MAX_FIELD_HEAD_BYTES, this.size - this.#position);
      if (!this.#holds(wanted)) await this.#fill(wanted);
      const field = this.#field(end);
      const pending = visit(field);
      if (pending !== undefined) await pending;
      this.#position = field.end;
    }
  }

  /** The content of a field as UTF-8. */
  async text(field: ProtobufField): Promise<string> {
    if (field.wire !== WIRE.bytes) throw malformed('a text field holds no text');
    const length = field.end - this.#position;
    if (length > MAX_TEXT_BYTES) {
      throw malformed(`a name is ${length} bytes long, expected at most ${MAX_TEXT_BYTES}`);
    }
    if (!this.#holds(length)) await this.#fill(length);
    const from = this.#position - this.#windowStart;
    return this.#window.toString('utf8', from, from + length);
  }

  /** The numbers of a repeated integer field, packed or not. */
  async integers(field: ProtobufField, limit: number): Promise<number[]> {
    if (field.wire === WIRE.varint) return [field.value];
    if (field.wire !== WIRE.bytes) throw malformed('a list of integers holds something else');
    const values: number[] = [];
    while (this.#position < field.end) {
      if (values.length >= limit) throw malformed(`a list has more than ${limit} integers`);
      const wanted = Math.min(MAX_VARINT_BYTES, field.end - this.#position);
      if (!this.#holds(wanted)) await this.#fill(wanted);
      values.push(this.#varint(field.end));
    }
    return values;
  }

  #field(parentEnd: number): ProtobufField {
    this.#fields += 1;
    if (this.#fields > MAX_FIELDS) throw malformed(`it has more than ${MAX_FIELDS} protobuf fields`);
    const tag = this.#varint(parentEnd);
    const number = Math.floor(tag / 8);
    const wire = tag % 8;
    if (tag < 8 || number > 536_870_911) throw malformed(`there is no protobuf field ${number}`);
    switch (wire) {
      case WIRE.varint: {
        const value = this.#varint(parentEnd);
        return { number, wire, value, end: this.#position };
      }
      case WIRE.fixed64:
        return { number, wire, value: 0, end: this.#checkedEnd(8, parentEnd) };
      case WIRE.fixed32:
        return { number, wire, value: 0, end: this.#checkedEnd(4, parentEnd) };
      case WIRE.bytes: {
        const length = this.#varint(parentEnd);
        return { number, wire, value: 0, end: this.#checkedEnd(length, parentEnd) };
      }
      default:
        throw malformed(`protobuf has no wire type ${wire}`);
    }
  }

  #checkedEnd(length: number, parentEnd: number): number {
    const end = this.#position + length;
    if (length < 0 || end > this.size) throw new TruncatedFile(end, this.size).error();
    if (end > parentEnd) throw malformed('a part is longer than what it is part of');
    return end;
  }

  /** Signed 64 bits, as a number: beyond 2^53 only the magnitude is right, which every caller refuses anyway. */
  #varint(parentEnd: number): number {
    let low = 0;
    let complement = 0;
    let scale = 1;
    for (let index = 0; index < MAX_VARINT_BYTES; index += 1) {
      const at = this.#position - this.#windowStart;
      if (this.#position >= parentEnd || at >= this.#windowBytes) {
        throw this.#position >= this.size
          ? new TruncatedFile(this.size + 1, this.size).error()
          : malformed('a number is longer than what it is part of');
      }
      const byte = this.#window[at] ?? 0;
      this.#position += 1;
      // The tenth byte is the sign. The complement of a small negative number is small, so it is exact.
      if (index === MAX_VARINT_BYTES - 1) return byte === 0 ? low : -(complement + 1);
      low += (byte & 127) * scale;
      complement += (~byte & 127) * scale;
      if (byte < 128) return low;
      scale *= 128;
    }
    throw malformed('a number is longer than 64 bits');
  }

  #holds(length: number): boolean {
    const from = this.#position - this.#windowStart;
    return from >= 0 && from + length <= this.#windowBytes;
  }

  async #fill(length: number): Promise<void> {
    this.#windowStart = this.#position;
    this.#windowBytes = 0;
    const wanted = Math.min(WINDOW_BYTES, this.size - this.#position);
    while (this.#windowBytes < wanted) {
      const { bytesRead } = await this.#file.read(
        this.#window,
        this.#windowBytes,
        wanted - this.#windowBytes,
        this.#windowStart + this.#windowBytes,
      );
      if (bytesRead === 0) break;
      this.#windowBytes += bytesRead;
    }
    // The file shrank while it was read: somebody is still copying it.
    if (this.#windowBytes < length) {
      throw new TruncatedFile(this.size, this.#windowStart + this.#windowBytes).error();
    }
  }
}

class TruncatedFile {
  readonly #needed: number;
  readonly #got: number;

  constructor(needed: number, got: number) {
    this.#needed = needed;
    this.#got = got;
  }

  error(): GimbalError {
    return new GimbalError('MODEL_UNAVAILABLE', 'the file ends too early', {
      extra: { fault: 'truncated', needed: this.#needed, got: this.#got },
    });
  }
}

/** Raised inside this folder only: the reader says it again with the file's name and what to do. */
export function malformed(what: string): GimbalError {
  return new GimbalError('MODEL_UNAVAILABLE', what, { extra: { fault: 'malformed' } });
}
