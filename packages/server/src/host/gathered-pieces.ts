import {
  GimbalError,
  type PartOutput,
  type Signature,
  type StreamPiece,
  type TensorOutput,
  toGimbalError,
  type Want,
  type WorkResult,
} from '@gimbal/core';

/** The pieces of one stream, for a caller that wants them at once. Bounded: what is longer is to be read as a stream. */
export class GatheredPieces {
  readonly #signature: Signature;
  readonly #want: Want;
  readonly #maxBytes: number;
  #outputs: PartOutput[] = [];
  #bytes = 0;

  constructor(signature: Signature, { want, maxBytes }: { readonly want: Want; readonly maxBytes: number }) {
    this.#signature = signature;
    this.#want = want;
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
    if (!ended.ok) return ended;
    if (this.#want === 'answer') return { ...ended, parts: this.#outputs };
    try {
      return { ...ended, parts: joinableParts(this.#outputs, this.#signature) };
    } catch (error) {
      return { ok: false, error: toGimbalError(error) };
    }
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

/**
 * The same pieces, so that edges can put each output together along its first axis as they do with parts of a split
 * work: a scalar counts as one row, and of no pieces at all there is one part without rows. Throws OUTPUT_INVALID when
 * shapes differ in another axis.
 */
function joinableParts(pieces: readonly PartOutput[], { outputs }: Signature): readonly PartOutput[] {
  if (pieces.length === 0) {
    const none = outputs.map(({ shape }) => ({
      bytes: new Uint8Array(0),
      shape: [0, ...shape.slice(1).map((length) => Math.max(0, length))],
    }));
    return [{ kind: 'tensors', rows: 0, outputs: none }];
  }
  const parts = pieces.map(withRows);
  for (const [index, { name }] of outputs.entries()) {
    const [first, ...others] = parts.map((part) =>
      part.kind === 'tensors' ? part.outputs[index] : undefined,
    );
    const other = others.find((output) => rowShape(output) !== rowShape(first));
    if (first && other) throw unlike(name, first, other);
  }
  return parts;
}

function withRows(part: PartOutput): PartOutput {
  if (part.kind !== 'tensors' || part.outputs.every(({ shape }) => shape.length > 0)) return part;
  const outputs = part.outputs.map(({ bytes, shape }) => ({ bytes, shape: shape.length > 0 ? shape : [1] }));
  return { ...part, outputs };
}

function rowShape(output: TensorOutput | undefined): string {
  return (output?.shape ?? []).slice(1).join();
}

function unlike(name: string, one: TensorOutput, other: TensorOutput): GimbalError {
  return new GimbalError(
    'OUTPUT_INVALID',
    `Cannot answer at once: the pieces of output "${name}" have shapes [${one.shape.join(', ')}] and [${other.shape.join(', ')}], expected shapes that differ in the first axis only; ask for the pieces as a stream`,
  );
}
