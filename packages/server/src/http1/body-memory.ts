/**
 * Memory for bodies that are being collected, over all connections of a server. Without it, some hundred clients that
 * announce large bodies and never end them fill the machine.
 */
export class BodyMemory {
  readonly #limitBytes: number;
  #usedBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** False when that much is not to be had now. */
  take(byteLength: number): boolean {
    if (this.#usedBytes + byteLength > this.#limitBytes) return false;
    this.#usedBytes += byteLength;
    return true;
  }

  give(byteLength: number): void {
    this.#usedBytes -= byteLength;
  }
}
