import { GimbalError, type PartOutput, type StreamPiece, type WorkResult } from '@gimbal/core';

/** The pieces of one stream, for a caller that wants them at once. Bounded: what is longer is to be read as a stream. */
export class GatheredPieces {
  readonly #maxBytes: number;
  #outputs: PartOutput[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** False when there is no room for it: the stream is of no use any more. */
  take(piece: StreamPiece): boolean {
    this.#bytes += piece.byteLength;
    if (this.#isTooLarge) {
      this.#outputs = [];
      return false;
    }
    this.#outputs.push(piece.output);
    piece.taken();
    return true;
  }

  /** What the call is told in place of the stream's own end. */
  result(ended: WorkResult): WorkResult {
    if (this.#isTooLarge) return { ok: false, error: this.#tooLarge() };
    return ended.ok ? { ...ended, parts: this.#outputs } : ended;
  }

  get #isTooLarge(): boolean {
    return this.#bytes > this.#maxBytes;
  }

  #tooLarge(): GimbalError {
    return new GimbalError(
      'STREAM_LIMIT',
      `Cannot answer at once: the pieces of the stream have more than ${this.#maxBytes} bytes (stream.maxCollectedBytes), expected Accept: text/event-stream, which has no such limit`,
    );
  }
}
