import { type Block, GimbalError } from '@gimbal/core';
import type { BodySink } from '../../http1/exchange.ts';
import type { PlannedInput } from './infer-inputs.ts';

export interface SinkSteps {
  /** Memory for JSON that does not come in one piece: the call's, so that it counts and returns with it. */
  hold(byteLength: number): Block;
  /** The JSON is complete: check it, take memory. Returns the binary inputs in the order of their bytes. */
  onHead(json: Uint8Array): readonly PlannedInput[];
  onComplete(): void;
  onFail(error: unknown): void;
}

/**
 * Takes a body of the binary extension as it arrives: the JSON first, then each tensor's bytes, copied once from the
 * receive buffer to the memory that the runner reads.
 */
export class InferSink implements BodySink {
  readonly #steps: SinkSteps;
  readonly #jsonLength: number;
  /** The JSON so far, when it did not come in one piece. */
  #held: Block | undefined;
  #heldLength = 0;
  #inputs: readonly PlannedInput[] | undefined;
  #current = 0;
  #filled = 0;
  #dead = false;

  /** `jsonLength` is at most the body's limit. */
  constructor(jsonLength: number, steps: SinkSteps) {
    this.#jsonLength = jsonLength;
    this.#steps = steps;
  }

  chunk(bytes: Uint8Array): void {
    if (this.#dead) return;
    try {
      this.#fill(this.#inputs ? bytes : this.#takeJson(bytes));
    } catch (error) {
      this.#die(error);
    }
  }

  end(): void {
    if (this.#dead) return;
    try {
      if (!this.#inputs) {
        if (this.#jsonLength > 0) throw tooShort(`${this.#jsonLength} bytes of JSON`, this.#heldLength);
        this.#inputs = this.#steps.onHead(new Uint8Array(0));
      }
      this.#skipFull();
      const input = this.#inputs[this.#current];
      if (input) {
        throw tooShort(`${input.block.bytes.length} bytes of input "${input.head.name}"`, this.#filled);
      }
      this.#steps.onComplete();
    } catch (error) {
      this.#die(error);
    }
  }

  fail(error: GimbalError): void {
    if (!this.#dead) this.#die(error);
  }

  /** Returns what follows the JSON in this chunk. */
  #takeJson(bytes: Uint8Array): Uint8Array {
    const missing = this.#jsonLength - this.#heldLength;
    if (this.#heldLength === 0 && bytes.length >= missing) {
      this.#inputs = this.#steps.onHead(bytes.subarray(0, missing));
      return bytes.subarray(missing);
    }
    this.#held ??= this.#steps.hold(this.#jsonLength);
    const held = this.#held;
    const taken = bytes.subarray(0, missing);
    held.bytes.set(taken, this.#heldLength);
    this.#heldLength += taken.length;
    if (this.#heldLength < this.#jsonLength) return bytes.subarray(bytes.length);
    this.#inputs = this.#steps.onHead(held.bytes);
    this.#held = undefined;
    return bytes.subarray(missing);
  }

  #fill(bytes: Uint8Array): void {
    let rest = bytes;
    while (rest.length > 0) {
      this.#skipFull();
      const input = this.#inputs?.[this.#current];
      if (!input) {
        throw new GimbalError(
          'INVALID_INPUT',
          `Cannot read the request: unexpected additional input data for model, ${rest.length} bytes more than the inputs need`,
        );
      }
      const taken = rest.subarray(0, input.block.bytes.length - this.#filled);
      input.block.bytes.set(taken, this.#filled);
      this.#filled += taken.length;
      rest = rest.subarray(taken.length);
    }
  }

  /** Past inputs that are complete, also those of no bytes. */
  #skipFull(): void {
    for (;;) {
      const input = this.#inputs?.[this.#current];
      if (!input || this.#filled < input.block.bytes.length) return;
      this.#current += 1;
      this.#filled = 0;
    }
  }

  #die(error: unknown): void {
    this.#dead = true;
    this.#steps.onFail(error);
  }
}

function tooShort(expected: string, got: number): GimbalError {
  return new GimbalError(
    'MALFORMED_REQUEST',
    `Cannot read the request: the body is too short, expected ${expected}, got ${got}`,
  );
}
