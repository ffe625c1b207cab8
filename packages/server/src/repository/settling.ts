import type { Instant } from '@gimbal/core';

/**
 * Decides when a folder that is being written to may be read.
 *
 * The folder is looked at as a fingerprint (names, sizes and times of its files). It may be read once the same
 * fingerprint has been seen for the settle time, and is read once for each fingerprint: a model that is still being
 * copied grows, so its fingerprint changes, so it waits. A copy that pauses longer than the settle time is read too
 * early; its model is then refused as truncated, and read again when it goes on.
 */
export class Settling {
  readonly #settleMs: number;
  #seen: { fingerprint: string; since: Instant } | undefined;
  #taken: string | undefined;

  constructor(settleMs: number, taken?: string) {
    this.#settleMs = settleMs;
    this.#taken = taken;
  }

  /** `waitMs` says when to look again; undefined when nothing is pending. */
  look(fingerprint: string, now: Instant): { readable: boolean; waitMs: number | undefined } {
    if (this.#seen?.fingerprint !== fingerprint) this.#seen = { fingerprint, since: now };
    if (fingerprint === this.#taken) return { readable: false, waitMs: undefined };
    const remainingMs = this.#seen.since + this.#settleMs - now;
    if (remainingMs > 0) return { readable: false, waitMs: remainingMs };
    return { readable: true, waitMs: undefined };
  }

  /** The folder was read as it was at this fingerprint. */
  take(fingerprint: string): void {
    this.#taken = fingerprint;
  }
}
