import type { Datatype } from '@gimbal/core';
import { WireWriter } from './wire-writer.ts';

/** A whole output; its bytes may lie in several pieces. */
export interface AnswerOutput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly pieces: readonly Uint8Array[];
}

export interface AnswerHead {
  readonly model: string;
  readonly version: string;
  /** Echoed, also when it is empty. */
  readonly id: string;
  /** `triton_final_response`, which only streams have. */
  readonly final: boolean | undefined;
}

/**
 * A message that is written only when its place is known: the gRPC library asks a serialized message for its length and
 * then to copy itself behind the frame's head, so outputs travel from the runner's memory to the frame in one copy.
 */
export class OutgoingMessage {
  #pieces: readonly Uint8Array[];
  #isCopied = false;
  readonly byteLength: number;

  constructor(pieces: readonly Uint8Array[]) {
    this.#pieces = pieces;
    this.byteLength = pieces.reduce((sum, piece) => sum + piece.length, 0);
  }

  get copied(): boolean {
    return this.#isCopied;
  }

  /** As of a Buffer. */
  copy(target: Uint8Array, at = 0): number {
    this.#isCopied = true;
    let end = at;
    for (const piece of this.#pieces) {
      target.set(piece, end);
      end += piece.length;
    }
    return end - at;
  }

  /** The bytes themselves, copied. */
  toBytes(): Buffer {
    const bytes = Buffer.allocUnsafe(this.byteLength);
    this.copy(bytes);
    return bytes;
  }

  /** From here on it no longer needs the memory that its pieces are views of. */
  detach(): void {
    this.#pieces = [this.toBytes()];
  }

  /** The same as an embedded message. */
  inside(field: number): OutgoingMessage {
    const writer = new WireWriter();
    writer.head(field, this.byteLength);
    return new OutgoingMessage([writer.finish(), ...this.#pieces]);
  }
}

/** `inference.ModelInferResponse`: every output raw and in order, since clients look them up by their index. */
export function inferAnswer(head: AnswerHead, outputs: readonly AnswerOutput[]): OutgoingMessage {
  const writer = new WireWriter();
  writer.text(1, head.model);
  writer.text(2, head.version);
  writer.text(3, head.id);
  if (head.final !== undefined) writer.message(4, finalParameter(head.final));
  for (const { name, datatype, shape } of outputs) {
    const tensor = new WireWriter();
    tensor.text(1, name);
    tensor.text(2, datatype);
    tensor.integers(3, shape);
    writer.message(5, tensor.finish());
  }
  const pieces: Uint8Array[] = [writer.finish()];
  for (const output of outputs) {
    const raw = new WireWriter();
    raw.head(
      6,
      output.pieces.reduce((sum, piece) => sum + piece.length, 0),
    );
    pieces.push(raw.finish(), ...output.pieces);
  }
  return new OutgoingMessage(pieces);
}

/** `inference.ModelStreamInferResponse` of a failure; `infer_response` says whose it is. */
export function streamError(message: string, head: AnswerHead): OutgoingMessage {
  const writer = new WireWriter();
  writer.text(1, message);
  writer.message(2, inferAnswer(head, []).toBytes());
  return new OutgoingMessage([writer.finish()]);
}

/** `inference.ModelStreamInferResponse` of an answer. */
export function streamAnswer(answer: OutgoingMessage): OutgoingMessage {
  return answer.inside(2);
}

/** An entry of map<string, InferParameter>. */
function finalParameter(isFinal: boolean): Buffer {
  const value = new WireWriter();
  value.bool(1, isFinal);
  const entry = new WireWriter();
  entry.text(1, 'triton_final_response');
  entry.message(2, value.finish());
  return entry.finish();
}
