import type { Instant } from '../base/time.ts';
import type { Work } from './work.ts';

/** A range of a work's rows inside a batch. */
export interface BatchPart<Payload> {
  readonly work: Work<Payload>;
  readonly firstRow: number;
  readonly rows: number;
}

/** What one runner runs at once: rows of one bucket. */
export interface Batch<Payload> {
  readonly id: number;
  readonly version: string;
  /** Index of the variant in the version's ladder. */
  readonly rung: number;
  readonly runner: string;
  readonly parts: readonly BatchPart<Payload>[];
  readonly rows: number;
  /** Cost of its rows, in rows of the profile. */
  readonly units: number;
  /** Of all its rows; undefined when they differ. */
  readonly costClass: number | undefined;
  /** Of the rung's breaker, when it started. */
  readonly ticket: number;
  readonly startedAt: Instant;
  readonly predictedMs: number;
}
