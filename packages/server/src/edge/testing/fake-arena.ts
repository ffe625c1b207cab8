import { type Block, GimbalError } from '@gimbal/core';

/** What freed memory is filled with, so that a view used too late reads nonsense. */
export const POISON = 0xdd;

/** Spans of the real arena start at cache lines. */
const ALIGNMENT = 64;

/** Arena memory for tests: bump-allocated, poisoned when freed, and it counts what is out. */
export class FakeArena {
  readonly bytes: Uint8Array;
  #at = 0;
  #out = 0;

  constructor(capacity: number) {
    this.bytes = new Uint8Array(capacity);
  }

  /** Blocks that were not given back. */
  get out(): number {
    return this.#out;
  }

  reserve(byteLength: number): Block {
    if (!Number.isSafeInteger(byteLength) || byteLength < 0) throw new Error(`bad reservation ${byteLength}`);
    if (byteLength > this.bytes.length) {
      throw new GimbalError('INPUT_TOO_LARGE', `Cannot take the input: it needs ${byteLength} bytes`);
    }
    if (this.#at + byteLength > this.bytes.length) {
      throw new GimbalError('OVERLOADED', 'Cannot take the input: the arena is full', { retryAfterMs: 1000 });
    }
    const offset = this.#at;
    this.#at += Math.max(1, Math.ceil(byteLength / ALIGNMENT)) * ALIGNMENT;
    this.#out += 1;
    const bytes = this.bytes.subarray(offset, offset + byteLength);
    // The real arena hands out used memory: nothing may rely on zeros.
    bytes.fill(POISON);
    return { span: { offset, byteLength }, bytes };
  }

  free(block: Block): void {
    block.bytes.fill(POISON);
    this.#out -= 1;
    if (this.#out === 0) this.#at = 0;
  }
}
