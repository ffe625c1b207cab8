import { type Instant, NEVER } from '../base/time.ts';

/** After a run that needed too much memory, larger ones are tried again no sooner. */
const PROBE_AFTER_MS = 60_000;

/**
 * Most rows in one run: what the profile allows, less after a run that needed more memory than there was. Half of what
 * failed is tried at once; twice of what works only after a minute without another failure.
 */
export class RowCeiling {
  #profiled = 1;
  #rows = 1;
  #probeAt: Instant = NEVER;

  get rows(): number {
    return this.#rows;
  }

  /** A runner has measured itself. What is known of memory stays known. */
  seed(rows: number): void {
    this.#profiled = rows;
    this.#rows = this.#probeAt === NEVER ? rows : Math.min(this.#rows, rows);
  }

  lower(failedRows: number, now: Instant): void {
    this.#rows = Math.max(1, Math.min(this.#rows, Math.floor(failedRows / 2)));
    this.#probeAt = now + PROBE_AFTER_MS;
  }

  /** Raises the ceiling when it is time; whether it did. */
  probe(now: Instant): boolean {
    if (now < this.#probeAt) return false;
    this.#rows = Math.min(this.#profiled, this.#rows * 2);
    this.#probeAt = this.#rows < this.#profiled ? now + PROBE_AFTER_MS : NEVER;
    return true;
  }
}
