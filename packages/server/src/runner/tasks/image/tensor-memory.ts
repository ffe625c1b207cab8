/** Blocks kept for later: the most that a batch of ordinary size has in use at once. */
const MAX_KEPT_BLOCKS = 16;
const MAX_KEPT_BYTES = 32 * 1024 * 1024;

/**
 * Memory of input tensors, used again. Left to the garbage collector, memory outside its heap makes it collect the whole
 * heap every 30 photos: measured, a quarter of the time of preprocessing.
 */
export class TensorMemory {
  readonly #kept: Uint8Array[] = [];
  #keptBytes = 0;

  /** A block of exactly this length, with anything in it. */
  take(byteLength: number): Uint8Array {
    const index = this.#kept.findIndex((block) => block.length === byteLength);
    if (index < 0) return new Uint8Array(byteLength);
    const [block] = this.#kept.splice(index, 1) as [Uint8Array];
    this.#keptBytes -= byteLength;
    return block;
  }

  /** Gives a block back; nobody may look at it any more. Those kept longest make room. */
  give(block: Uint8Array): void {
    if (block.length > MAX_KEPT_BYTES) return;
    this.#kept.push(block);
    this.#keptBytes += block.length;
    while (this.#kept.length > MAX_KEPT_BLOCKS || this.#keptBytes > MAX_KEPT_BYTES) {
      this.#keptBytes -= this.#kept.shift()?.length ?? 0;
    }
  }
}
