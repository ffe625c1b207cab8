import { type Instant, LeakDetector, type LeakVerdict, type MemorySample } from '@gimbal/core';

/** What finds a leak; another in tests. */
export type GrowthDetector = Pick<LeakDetector, 'observed' | 'recycled'>;

/** Watches the memory of the processes that fill one slot, one after another. */
export class GrowthWatch {
  readonly #detector: GrowthDetector;
  #told = false;
  #lastBytes: number | undefined;
  #worn: LeakVerdict | undefined;

  constructor(detector: GrowthDetector = new LeakDetector()) {
    this.#detector = detector;
  }

  /** Why the present process should be replaced; undefined while its memory is steady. */
  get worn(): LeakVerdict | undefined {
    return this.#worn;
  }

  /**
   * Takes what a report said. A runner measures itself a few times a second only, so that the same number twice is no new
   * sample. Gives the verdict when it is bad for the first time for this process.
   */
  observed(sample: MemorySample, now: Instant): LeakVerdict | undefined {
    if (sample.bytes === this.#lastBytes) return undefined;
    this.#lastBytes = sample.bytes;
    const verdict = this.#detector.observed(sample, now);
    this.#worn = verdict.kind === 'steady' ? undefined : verdict;
    if (!this.#worn || this.#told) return undefined;
    this.#told = true;
    return verdict;
  }

  /** Another process fills the slot. */
  replaced(): void {
    this.#detector.recycled();
    this.#told = false;
    this.#lastBytes = undefined;
    this.#worn = undefined;
  }
}
