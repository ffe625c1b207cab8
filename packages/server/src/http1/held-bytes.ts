import { type ByteWindow, NO_BYTES } from './byte-window.ts';

/** First size; most that is held is the beginning of a head. */
const FIRST_BYTES = 2048;

/** Received bytes that can't be taken yet, in one piece. Who appends sees to it that they stay few. */
export class HeldBytes {
  #bytes: Buffer = NO_BYTES;
  #start = 0;
  #end = 0;

  get length(): number {
    return this.#end - this.#start;
  }

  append(bytes: Buffer, from: number, to: number): void {
    const added = to - from;
    if (this.#end + added > this.#bytes.length) this.#makeRoom(added);
    bytes.copy(this.#bytes, this.#end, from, to);
    this.#end += added;
  }

  /** Makes the window show what is held. */
  show(window: ByteWindow): void {
    window.bytes = this.#bytes;
    window.at = this.#start;
    window.end = this.#end;
  }

  /** Gives up everything before `at` of the window's bytes; memory too, when nothing is left. */
  dropTo(at: number): void {
    if (at >= this.#end) this.clear();
    else this.#start = at;
  }

  clear(): void {
    this.#bytes = NO_BYTES;
    this.#start = 0;
    this.#end = 0;
  }

  #makeRoom(added: number): void {
    const held = this.length;
    const wanted = held + added;
    const target =
      wanted <= this.#bytes.length
        ? this.#bytes
        : Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, wanted, 2 * this.#bytes.length));
    this.#bytes.copy(target, 0, this.#start, this.#end);
    this.#bytes = target;
    this.#start = 0;
    this.#end = held;
  }
}
