import { assert } from '@gimbal/core';

/** Length of the body (uint32) and kind (uint8), padded so that bodies start at multiples of 8. */
export const FRAME_HEADER_BYTES = 8;
/** Frames are padded to this, so that tensors inside them are aligned for every datatype. */
export const FRAME_ALIGNMENT = 8;
/** The largest body of a frame; more is a broken peer. */
export const MAX_FRAME_BYTES = 512 * 1024 * 1024;
/** A buffer that has grown beyond this for one large frame is not kept. */
const MAX_KEPT_BYTES = 1024 * 1024;
const FIRST_BYTES = 4096;

export const FRAME_KINDS = { control: 1, run: 2, report: 3, piece: 4, credit: 5, cancel: 6 } as const;

export type FrameKind = keyof typeof FRAME_KINDS;

/** Bytes from here on are sent from where they lie; shorter ones are copied into the frame. */
export const MIN_ATTACHED_BYTES = 16 * 1024;

interface Attachment {
  readonly bytes: Uint8Array;
  /** Where in the buffer it is to be inserted. */
  readonly at: number;
}

/** Builds one frame at a time in memory that is used again for the next. All numbers are little endian. */
export class FrameBuffer {
  #bytes = new Uint8Array(FIRST_BYTES);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;
  readonly #attachments: Attachment[] = [];
  #attachedBytes = 0;

  /** Starts a frame; what was in the buffer is forgotten. */
  begin(kind: FrameKind): void {
    if (this.#bytes.length > MAX_KEPT_BYTES) this.replace();
    this.#view.setUint32(4, FRAME_KINDS[kind], true);
    this.#length = FRAME_HEADER_BYTES;
    this.#attachments.length = 0;
    this.#attachedBytes = 0;
  }

  /** Fresh memory: the last frame is still being sent. */
  replace(): void {
    this.#bytes = new Uint8Array(FIRST_BYTES);
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** Where the next byte goes, counted from the start of the body. */
  get bodyLength(): number {
    return this.#length - FRAME_HEADER_BYTES + this.#attachedBytes;
  }

  u32(value: number): void {
    this.#reserve(4);
    this.#view.setUint32(this.#length, value, true);
    this.#length += 4;
  }

  f64(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.#length, value, true);
    this.#length += 8;
  }

  /** Overwrites a number written before anything was attached, by its place in the body. */
  patchU32(at: number, value: number): void {
    this.#view.setUint32(FRAME_HEADER_BYTES + at, value, true);
  }

  /** Large bytes are not copied: they must stay as they are until the frame is sent and its peer has answered. */
  bytes(value: Uint8Array): void {
    if (value.length >= MIN_ATTACHED_BYTES) {
      this.#attachments.push({ bytes: value, at: this.#length });
      this.#attachedBytes += value.length;
      return;
    }
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  align(): void {
    this.#reserve(FRAME_ALIGNMENT);
    while (this.bodyLength % FRAME_ALIGNMENT !== 0) {
      this.#bytes[this.#length] = 0;
      this.#length += 1;
    }
  }

  /** The whole frame in pieces: views that are valid until the next `begin`. */
  end(): readonly Uint8Array[] {
    this.align();
    const { bodyLength } = this;
    assert(bodyLength <= MAX_FRAME_BYTES, 'a frame is within its limit: whoever builds it has checked');
    this.#view.setUint32(0, bodyLength, true);
    const pieces: Uint8Array[] = [];
    let from = 0;
    for (const { bytes, at } of this.#attachments) {
      if (at > from) pieces.push(this.#bytes.subarray(from, at));
      pieces.push(bytes);
      from = at;
    }
    if (this.#length > from) pieces.push(this.#bytes.subarray(from, this.#length));
    return pieces;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}
