import { assert } from '../../base/assert.ts';
import type { Random } from '../../base/random.ts';
import type { Instant } from '../../base/time.ts';
import { DEFAULT_RESTART_OPTIONS, type RestartOptions } from './options.ts';

/** How a runner came to an end that nobody asked for. */
export interface RunnerExit {
  /** `killed`: by a SIGKILL from outside that the kernel's want of memory does not explain. */
  readonly cause: 'crashed' | 'hung' | 'killed' | 'load-failed';
  /** How long it had been taking work; 0 when it never did. */
  readonly readyMs: number;
}

export interface RestartDecision {
  /** `faulted`: a crash loop, or a model that can't be loaded; the next start is only a probe. */
  readonly state: 'backoff' | 'faulted';
  readonly delayMs: number;
}

/**
 * Decides what: when a runner slot is filled again after an end that nobody asked for, and when the slot counts as
 * faulted.
 *
 * Why this design: exponential back-off with full jitter (AWS Architecture Blog, "Exponential Backoff And Jitter",
 * 2015) spreads runners that died together as widely as their delay allows. A loop is told by ends in a window rather
 * than by a streak: a runner that lives for ten seconds between crashes is in a loop too. Probes of a loop wait at least
 * half of their delay, since each costs a model load beside those that still serve. Somebody's SIGKILL says nothing about the model: a runner that
 * was at work when it came is back at once, however often it comes, and each costs one load.
 *
 * Transitions: first end → backoff · an end while fewer than `loopExits` are in the window → backoff, longer · the
 * `loopExits`th, or a load that failed → faulted · an end in faulted → faulted, longer · an end after `stableMs` of work
 * → as the first.
 * Cold start: no ends seen; the first restart is almost at once.
 * Recovery: from back-off by ends that are older than the window, from faulted by `stableMs` of work alone: a probe that
 * becomes ready but crashes early is still in its loop.
 * Not counted: ends that were asked for (drain, recycling, unload), which never come here, and kills of a runner at work
 * (one that never got there may have been killed by its own load). Staggering several slots is the driver's.
 */
export class RestartBackoff {
  readonly #random: Random;
  readonly #options: RestartOptions;
  /** Latest ends within the window, at most `loopExits`. */
  #exits: Instant[] = [];
  /** Probes since the slot was faulted. */
  #probes = 0;

  constructor(random: Random, options: Partial<RestartOptions> = {}) {
    this.#random = random;
    this.#options = { ...DEFAULT_RESTART_OPTIONS, ...options };
    assert(this.#options.loopExits >= 1, 'a loop has at least one end');
    assert(this.#options.growthFactor >= 1, 'a back-off does not shrink');
  }

  next(exit: RunnerExit, now: Instant): RestartDecision {
    const { stableMs, loopExits, loopWindowMs } = this.#options;
    if (exit.readyMs >= stableMs) this.#forget();
    this.#exits = this.#exits.filter((at) => now - at < loopWindowMs);
    if (exit.cause === 'killed' && exit.readyMs > 0 && this.#probes === 0) return this.#atOnce();
    this.#exits.push(now);
    if (this.#exits.length > loopExits) this.#exits.shift();
    // A file that is broken stays broken until somebody replaces it.
    const faulted = exit.cause === 'load-failed' || this.#probes > 0 || this.#exits.length >= loopExits;
    return faulted ? this.#probe() : this.#backOff();
  }

  #forget(): void {
    this.#exits = [];
    this.#probes = 0;
  }

  #atOnce(): RestartDecision {
    return { state: 'backoff', delayMs: this.#options.firstDelayMs * this.#random.next() };
  }

  #backOff(): RestartDecision {
    const { firstDelayMs, growthFactor, maxDelayMs } = this.#options;
    const limitMs = Math.min(maxDelayMs, firstDelayMs * growthFactor ** (this.#exits.length - 1));
    return { state: 'backoff', delayMs: limitMs * this.#random.next() };
  }

  #probe(): RestartDecision {
    const { firstProbeMs, maxProbeMs } = this.#options;
    const limitMs = Math.min(maxProbeMs, firstProbeMs * 2 ** this.#probes);
    this.#probes += 1;
    return { state: 'faulted', delayMs: limitMs * (0.5 + this.#random.next() / 2) };
  }
}
