/** What the answer cache keeps, and for how long. */
export interface AnswerCacheOptions {
  /**
   * Memory of all kept answers together, keys and bookkeeping included, in bytes. Default: 67,108,864 (64 MiB): tens of
   * thousands of JSON answers, and no share of a small container that would be missed.
   */
  readonly maxBytes: number;
  /**
   * An answer larger than this share of `maxBytes` is not kept. Default: 0.125: one caller with huge tensors must not
   * push out everybody else's answers.
   */
  readonly maxValueRatio: number;
  /** How long an answer is a hit, in ms. Default: 3,600,000: an hour. */
  readonly ttlMs: number;
  /**
   * How long after that it may still be served instead of an error, in ms. Default: 86,400,000: an outage that lasts
   * longer than a day is not one that old answers should hide.
   */
  readonly staleMs: number;
  /**
   * Callers that may wait for one flight. Default: 256: beyond it they compute for themselves, so that one slow run
   * holds only so many.
   */
  readonly maxFollowers: number;
}

export const DEFAULT_ANSWER_CACHE_OPTIONS: AnswerCacheOptions = {
  maxBytes: 64 * 1024 * 1024,
  maxValueRatio: 0.125,
  ttlMs: 3_600_000,
  staleMs: 86_400_000,
  maxFollowers: 256,
};
