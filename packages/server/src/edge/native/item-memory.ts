import type { Block, Call } from '@gimbal/core';

/** Reserves memory for the item being read, and gives it back when the item turns out to be refused. */
export class ItemMemory {
  readonly #call: Call;
  #blocks: Block[] = [];

  constructor(call: Call) {
    this.#call = call;
  }

  /** Throws OVERLOADED or INPUT_TOO_LARGE. */
  reserve(byteLength: number): Block {
    const block = this.#call.reserve(byteLength);
    this.#blocks.push(block);
    return block;
  }

  /** A copy of bytes that won't stay where they are. */
  hold(bytes: Uint8Array): Block {
    const block = this.reserve(bytes.byteLength);
    block.bytes.set(bytes);
    return block;
  }

  /** The item is complete: its blocks stay with the call. */
  keep(): void {
    this.#blocks.length = 0;
  }

  /** The item is refused. */
  drop(): void {
    for (const block of this.#blocks) this.#call.release(block);
    this.#blocks.length = 0;
  }
}
