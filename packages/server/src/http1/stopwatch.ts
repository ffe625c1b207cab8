import type { Instant } from '@gimbal/core';

const UNSEEN = -1;

/**
 * Time since a restart, seen only by a sweep: it starts at the first sweep after the restart, so that restarting, which
 * happens several times a request, reads no clock. It is late by at most one sweep.
 */
export class Stopwatch {
  #startedAt: Instant = UNSEEN;

  restart(): void {
    this.#startedAt = UNSEEN;
  }

  elapsedMs(now: Instant): number {
    if (this.#startedAt === UNSEEN) this.#startedAt = now;
    return now - this.#startedAt;
  }
}

/** How long a number of bytes has not changed. */
export class ProgressWatch {
  #bytes = 0;
  #changedAt: Instant = 0;

  /** 0 when there are none. */
  stalledMs(bytes: number, now: Instant): number {
    if (bytes === 0 || bytes !== this.#bytes) {
      this.#bytes = bytes;
      this.#changedAt = now;
    }
    return now - this.#changedAt;
  }
}
