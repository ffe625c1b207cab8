import { SeededRandom } from '../../../base/random.ts';
import type { Instant } from '../../../base/time.ts';

/** A run of so many rows: 20 + 0.5 n ms, at most 32 rows. */
const MAX_ROWS = 32;
const FIXED_MS = 20;
const PER_ROW_MS = 0.5;

export const FULL_BATCH_MS = FIXED_MS + PER_ROW_MS * MAX_ROWS;
/** Rows a second of one runner whose batches are full. */
export const CAPACITY_ROWS_PER_S = (MAX_ROWS / FULL_BATCH_MS) * 1000;

/** What a limiter under test sees. Amounts are rows. */
export interface PlantLimiter {
  admits(inFlightRows: number, now: Instant): boolean;
  /** A run begins: how long each of its rows waited for it. */
  started(waitsMs: readonly number[], now: Instant): void;
  /** It ended: from arrival to answer, for each of its rows. */
  ended(latenciesMs: readonly number[], now: Instant): void;
}

/** What comes in a quiet hour. */
const QUIET_LOAD = 0.02;
const QUIET_MS = 5000;
/** All within the minute for which a gradient's least latency is valid. */
const SETTLED_MS = 20_000;
const END_MS = 60_000;

/** Rows in % of what one runner can do in the same time. */
export interface Throughput {
  readonly offered: number;
  readonly answered: number;
}

export interface PlantLoad {
  /** Arrivals in parts of the capacity. */
  readonly load: number;
  /** Whether it begins after some quiet seconds, or at once. */
  readonly start: 'quiet' | 'at-once';
  readonly seed?: number;
}

/**
 * Poisson arrivals, one runner that takes whatever waits whenever it is idle,
 * and a limiter that admits or sheds each arrival. Measured after a time in which the limiter settles.
 */
export function runPlant(limiter: PlantLimiter, { load, start, seed = 1 }: PlantLoad): Throughput {
  const quietMs = start === 'quiet' ? QUIET_MS : 0;
  const random = new SeededRandom(seed);
  const gapAt = (now: Instant): number =>
    -Math.log(1 - random.next()) * (1000 / (CAPACITY_ROWS_PER_S * (now < quietMs ? QUIET_LOAD : load)));
  let nextArrival = gapAt(0);
  let runEndsAt = Infinity;
  let waiting: Instant[] = [];
  let running: Instant[] = [];
  let answered = 0;
  let offered = 0;
  for (;;) {
    const now = Math.min(nextArrival, runEndsAt);
    if (now >= END_MS) break;
    if (now === runEndsAt) {
      if (now >= SETTLED_MS) answered += running.length;
      limiter.ended(
        running.map((at) => now - at),
        now,
      );
      running = [];
      runEndsAt = Infinity;
    } else {
      if (now >= SETTLED_MS) offered += 1;
      if (limiter.admits(waiting.length + running.length + 1, now)) waiting.push(now);
      nextArrival = now + gapAt(now);
    }
    if (running.length > 0 || waiting.length === 0) continue;
    running = waiting.slice(0, MAX_ROWS);
    waiting = waiting.slice(MAX_ROWS);
    runEndsAt = now + FIXED_MS + PER_ROW_MS * running.length;
    limiter.started(
      running.map((at) => now - at),
      now,
    );
  }
  const capacityRows = (CAPACITY_ROWS_PER_S * (END_MS - SETTLED_MS)) / 1000;
  return { offered: (offered / capacityRows) * 100, answered: (answered / capacityRows) * 100 };
}

/** A limiter that never learns. */
export class FixedLimiter implements PlantLimiter {
  readonly #rows: number;

  constructor(rows: number) {
    this.#rows = rows;
  }

  admits(inFlightRows: number): boolean {
    return inFlightRows <= this.#rows;
  }

  started(): void {}

  ended(): void {}
}

/**
 * The gradient controller of Envoy's adaptive concurrency filter with its documented defaults, to compare with: every
 * 100 ms `limit × gradient + √(limit × gradient)`, where the gradient is the least latency (measured each 60 s at a
 * concurrency of 3, median of 50, with a buffer of 25 %) over the median latency.
 * https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_filters/adaptive_concurrency_filter
 */
export class GradientLimiter implements PlantLimiter {
  #limit = 3;
  #minLatencyMs: number | undefined = undefined;
  #measuredAt: Instant = 0;
  #windowEndsAt: Instant = 0;
  #samples: number[] = [];

  admits(inFlightRows: number): boolean {
    return inFlightRows <= (this.#minLatencyMs === undefined ? 3 : this.#limit);
  }

  started(): void {}

  ended(latenciesMs: readonly number[], now: Instant): void {
    this.#samples.push(...latenciesMs);
    if (this.#minLatencyMs === undefined) {
      if (this.#samples.length < 50) return;
      this.#minLatencyMs = median(this.#samples);
      this.#measuredAt = now;
    } else if (now >= this.#windowEndsAt) {
      const gradient = Math.max(0.5, Math.min(2, (this.#minLatencyMs * 1.25) / median(this.#samples)));
      const shrunk = this.#limit * gradient;
      this.#limit = Math.max(3, Math.min(1000, shrunk + Math.sqrt(shrunk)));
      if (now - this.#measuredAt >= 60_000) this.#minLatencyMs = undefined;
    } else return;
    this.#samples = [];
    this.#windowEndsAt = now + 100;
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((left, right) => left - right)[values.length >> 1] ?? 0;
}
