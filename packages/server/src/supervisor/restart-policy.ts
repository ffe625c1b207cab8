import type { Instant, Random } from '@gimbal/core';

/** How a runner's process came to an end that nobody asked for. */
export interface RunnerExit {
  readonly cause: 'crashed' | 'hung' | 'load-failed';
  /** How long it had been taking work; 0 when it never did. */
  readonly readyMs: number;
}

export interface RestartDecision {
  /** `faulted`: a crash loop or a model that can't be loaded; the next start is only a probe. */
  readonly state: 'backoff' | 'faulted';
  readonly delayMs: number;
}

/** Decides when a runner is started again. One for all runners of a pool: they run the same model. */
export interface RestartPolicy {
  next(exit: RunnerExit, now: Instant): RestartDecision;
}

/** The first restart is almost at once: a single crash should cost as little as a model load. */
const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 10_000;
/** So many ends within the window are a crash loop. */
const LOOP_EXITS = 5;
const LOOP_WINDOW_MS = 60_000;
const FIRST_PROBE_MS = 15_000;
const MAX_PROBE_MS = 300_000;
/** A runner that worked this long has recovered. */
const RECOVERED_MS = 60_000;

/** Exponential back-off with jitter; crash loops and models that can't be loaded are probed slowly. */
export class BackoffRestarts implements RestartPolicy {
  readonly #random: Random;
  #exits: Instant[] = [];
  #probes = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  next(exit: RunnerExit, now: Instant): RestartDecision {
    if (exit.readyMs >= RECOVERED_MS) {
      this.#exits = [];
      this.#probes = 0;
    }
    this.#exits = this.#exits.filter((at) => now - at < LOOP_WINDOW_MS).slice(1 - LOOP_EXITS);
    this.#exits.push(now);
    // A file that is broken stays broken until somebody replaces it.
    if (exit.cause === 'load-failed' || this.#exits.length >= LOOP_EXITS) {
      const delayMs = Math.min(MAX_PROBE_MS, FIRST_PROBE_MS * 2 ** this.#probes);
      this.#probes += 1;
      return { state: 'faulted', delayMs: this.#jittered(delayMs) };
    }
    const delayMs = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 4 ** (this.#exits.length - 1));
    return { state: 'backoff', delayMs: this.#jittered(delayMs) };
  }

  /** Between half and all of it, so that runners that died together don't start together. */
  #jittered(delayMs: number): number {
    return delayMs * (0.5 + this.#random.next() / 2);
  }
}
