import type { Instant } from '../../base/time.ts';

/** Pieces that leave the window one by one. */
const SLICES = 10;

/** Calls and hard failures of the last seconds. It turns with the clock, whether or not anybody calls. */
export class FailureWindow {
  readonly #sliceMs: number;
  readonly #calls = new Array<number>(SLICES).fill(0);
  readonly #failures = new Array<number>(SLICES).fill(0);
  /** Slice of the clock that was looked at last. */
  #slice = 0;

  constructor(windowMs: number) {
    this.#sliceMs = windowMs / SLICES;
  }

  record(isFailure: boolean, now: Instant): void {
    this.#turnTo(now);
    const at = this.#slice % SLICES;
    this.#calls[at] = (this.#calls[at] ?? 0) + 1;
    if (isFailure) this.#failures[at] = (this.#failures[at] ?? 0) + 1;
  }

  totals(now: Instant): { calls: number; failures: number } {
    this.#turnTo(now);
    const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);
    return { calls: sum(this.#calls), failures: sum(this.#failures) };
  }

  clear(): void {
    this.#calls.fill(0);
    this.#failures.fill(0);
  }

  #turnTo(now: Instant): void {
    const slice = Math.max(this.#slice, Math.floor(now / this.#sliceMs));
    const passed = Math.min(SLICES, slice - this.#slice);
    for (let step = 1; step <= passed; step += 1) {
      this.#calls[(this.#slice + step) % SLICES] = 0;
      this.#failures[(this.#slice + step) % SLICES] = 0;
    }
    this.#slice = slice;
  }
}
