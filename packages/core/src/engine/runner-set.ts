import { assert } from '../base/assert.ts';
import type { Instant } from '../base/time.ts';
import type { Batch } from './batch.ts';

/** A runner as its pool sees it: idle without batches, busy with some, or on its way out. */
export interface Runner<Payload> {
  readonly id: string;
  /** In the order in which it runs them. */
  readonly batches: Batch<Payload>[];
  /** Batches that it has been given in its life. */
  given: number;
  retiring: boolean;
  /** When it was last done with a batch. */
  freeSince: Instant;
}

/** The runners of a pool and what each of them has to do. They are few: a look at all of them is cheap. */
export class RunnerSet<Payload> {
  readonly #maxBatches: number;
  readonly #runners: Runner<Payload>[] = [];
  #serving = 0;
  #rows = 0;
  #batches = 0;
  #everReady = false;

  constructor(maxBatches: number) {
    this.#maxBatches = maxBatches;
  }

  /** Runners that take work. */
  get serving(): number {
    return this.#serving;
  }

  get everReady(): boolean {
    return this.#everReady;
  }

  /** Rows that runners have now. */
  get rows(): number {
    return this.#rows;
  }

  get batches(): number {
    return this.#batches;
  }

  get hasIdle(): boolean {
    return this.#runners.some(({ batches, retiring }) => batches.length === 0 && !retiring);
  }

  find(id: string): Runner<Payload> | undefined {
    for (const runner of this.#runners) if (runner.id === id) return runner;
    return undefined;
  }

  add(id: string): void {
    assert(!this.find(id), 'a runner becomes ready once: a restarted one has a new id');
    this.#runners.push({ id, batches: [], given: 0, retiring: false, freeSince: -Infinity });
    this.#serving += 1;
    this.#everReady = true;
  }

  retire(id: string): void {
    const runner = this.find(id);
    if (!runner || runner.retiring) return;
    runner.retiring = true;
    this.#serving -= 1;
  }

  /** Forgets the runner; returns what it had. */
  remove(id: string): readonly Batch<Payload>[] {
    const index = this.#runners.findIndex((runner) => runner.id === id);
    const runner = this.#runners[index];
    if (!runner) return [];
    this.#runners.splice(index, 1);
    if (!runner.retiring) this.#serving -= 1;
    for (const batch of runner.batches) this.#rows -= batch.rows;
    this.#batches -= runner.batches.length;
    return runner.batches;
  }

  /** The runner with room that will be free first; among equals the one that has had the fewest batches. */
  choose(now: Instant): Runner<Payload> | undefined {
    let best: Runner<Payload> | undefined;
    let bestMs = Infinity;
    for (const runner of this.#runners) {
      if (runner.retiring || runner.batches.length >= this.#maxBatches) continue;
      const ms = runnerRemainingMs(runner, now);
      if (best && (ms > bestMs || (ms === bestMs && !isFresher(runner, best)))) continue;
      best = runner;
      bestMs = ms;
    }
    return best;
  }

  start(runner: Runner<Payload>, batch: Batch<Payload>): void {
    runner.batches.push(batch);
    runner.given += 1;
    this.#rows += batch.rows;
    this.#batches += 1;
  }

  /** Takes a finished batch from its runner; undefined when it does not have it. */
  finish(runner: Runner<Payload>, batchId: number): Batch<Payload> | undefined {
    const index = runner.batches.findIndex(({ id }) => id === batchId);
    const batch = runner.batches[index];
    if (!batch) return undefined;
    runner.batches.splice(index, 1);
    this.#rows -= batch.rows;
    this.#batches -= 1;
    return batch;
  }

  /** Predicted time of all that runs on runners that take work, together. */
  remainingMs(now: Instant): number {
    let sumMs = 0;
    for (const runner of this.#runners) if (!runner.retiring) sumMs += runnerRemainingMs(runner, now);
    return sumMs;
  }
}

/** A batch that overruns its prediction has nothing left by it, but is no idle runner. */
function isFresher(one: Runner<unknown>, other: Runner<unknown>): boolean {
  if (one.batches.length !== other.batches.length) return one.batches.length < other.batches.length;
  return one.given < other.given;
}

/** 0 when it is idle. A batch that takes longer than predicted counts as about to end. */
function runnerRemainingMs({ batches, freeSince }: Runner<unknown>, now: Instant): number {
  let sumMs = 0;
  for (const [index, batch] of batches.entries()) {
    if (index > 0) sumMs += batch.predictedMs;
    else sumMs += Math.max(0, Math.max(batch.startedAt, freeSince) + batch.predictedMs - now);
  }
  return sumMs;
}
