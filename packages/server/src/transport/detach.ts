/** ES2024, which every Node has that this runs on, and the compiler's library has not. */
interface Transferable extends ArrayBuffer {
  transfer(byteLength: number): ArrayBuffer;
}

/**
 * Takes the memory away from a buffer: all views of it become empty, so that a stale one reads nothing where it would
 * read freed or unmapped memory.
 */
export function detach(buffer: ArrayBufferLike): void {
  (buffer as Transferable).transfer(0);
}
