import {
  FRAME_ALIGNMENT,
  FRAME_HEADER_BYTES,
  FRAME_KINDS,
  type FrameKind,
  MAX_FRAME_BYTES,
} from './frame-buffer.ts';
import { MalformedFrame } from './frame-cursor.ts';

const KIND_OF_CODE: readonly (FrameKind | undefined)[] = [
  undefined,
  ...(Object.entries(FRAME_KINDS) as [FrameKind, number][])
    .sort(([, left], [, right]) => left - right)
    .map(([kind]) => kind),
];

export type OnFrame = (kind: FrameKind, body: Uint8Array) => void;

export interface FrameReaderOptions {
  /**
   * Reads all large bodies into the same memory, which fresh pages would make several times slower: for a peer that is
   * done with one before it is sent the next.
   */
  readonly reuseLarge: boolean;
}

/** Bodies from here on are large; bodies beyond the second limit get memory of their own in any case. */
const LARGE_BYTES = 64 * 1024;
const MAX_REUSED_BYTES = 64 * 1024 * 1024;

/**
 * Cuts a stream of bytes into frames. Chunks may be memory that is read into again: every body is copied once, into
 * memory of its own that starts at a multiple of 8.
 */
export class FrameReader {
  readonly #onFrame: OnFrame;
  readonly #reuseLarge: boolean;
  #large: Uint8Array | undefined;
  readonly #header = new Uint8Array(FRAME_HEADER_BYTES);
  readonly #headerView = new DataView(this.#header.buffer);
  #headerLength = 0;
  #kind: FrameKind = 'control';
  /** The body that is being gathered. */
  #body: Uint8Array | undefined;
  #bodyLength = 0;

  constructor(onFrame: OnFrame, { reuseLarge }: FrameReaderOptions = { reuseLarge: false }) {
    this.#onFrame = onFrame;
    this.#reuseLarge = reuseLarge;
  }

  /** Throws MalformedFrame; after that the stream can't be read any further. */
  push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
      at = this.#body ? this.#gather(this.#body, chunk, at) : this.#start(chunk, at);
    }
  }

  #start(chunk: Uint8Array, at: number): number {
    const taken = Math.min(FRAME_HEADER_BYTES - this.#headerLength, chunk.length - at);
    for (let index = 0; index < taken; index += 1) {
      this.#header[this.#headerLength + index] = chunk[at + index] as number;
    }
    this.#headerLength += taken;
    if (this.#headerLength < FRAME_HEADER_BYTES) return chunk.length;
    this.#headerLength = 0;
    const { kind, length } = readHeader(this.#headerView);
    const from = at + taken;
    this.#kind = kind;
    this.#body = this.#memory(length);
    this.#bodyLength = 0;
    return this.#gather(this.#body, chunk, from);
  }

  #memory(length: number): Uint8Array {
    // Not from Node's pool, whose slices may start anywhere.
    if (!this.#reuseLarge || length < LARGE_BYTES || length > MAX_REUSED_BYTES) return new Uint8Array(length);
    if (!this.#large || this.#large.length < length) this.#large = new Uint8Array(length);
    return this.#large.subarray(0, length);
  }

  #gather(body: Uint8Array, chunk: Uint8Array, at: number): number {
    const taken = Math.min(body.length - this.#bodyLength, chunk.length - at);
    body.set(chunk.subarray(at, at + taken), this.#bodyLength);
    this.#bodyLength += taken;
    if (this.#bodyLength === body.length) {
      this.#body = undefined;
      this.#onFrame(this.#kind, body);
    }
    return at + taken;
  }
}

function readHeader(view: DataView): { kind: FrameKind; length: number } {
  const length = view.getUint32(0, true);
  const kind = KIND_OF_CODE[view.getUint32(4, true)];
  if (kind === undefined) throw new MalformedFrame('the frame is of a kind that does not exist');
  if (length > MAX_FRAME_BYTES) {
    throw new MalformedFrame(`the frame has ${length} bytes, expected at most ${MAX_FRAME_BYTES}`);
  }
  if (length % FRAME_ALIGNMENT !== 0)
    throw new MalformedFrame(`the frame has ${length} bytes, expected a multiple of 8`);
  return { kind, length };
}
