import type { LoadResult } from './plan.ts';

export type FailureKind = keyof LoadResult['failures'];

/** Requests that one run may record; a longer run keeps counting but its latencies are those of the first ones. */
const MAX_SAMPLES = 20_000_000;

/** Collects what happened inside the measured window. Times are ms of one monotonic clock. */
export class Recorder {
  #samples = new Float32Array(1 << 16);
  #count = 0;
  #sum = 0;
  #started = 0;
  #unsent = 0;
  #maxLagMs = 0;
  readonly #statuses: Record<string, number> = {};
  readonly #failures: Record<FailureKind, number> = { timeout: 0, connect: 0, reset: 0, 'wrong-answer': 0 };
  readonly #goodBySecond: number[] = [];
  readonly #offeredBySecond: number[] = [];
  readonly #windowStart: number;
  readonly #windowEnd: number;

  constructor(window: { startMs: number; endMs: number }) {
    this.#windowStart = window.startMs;
    this.#windowEnd = window.endMs;
  }

  started(intendedMs: number, actualMs: number): void {
    if (!this.#inside(intendedMs)) return;
    this.#started += 1;
    this.#maxLagMs = Math.max(this.#maxLagMs, actualMs - intendedMs);
    bump(this.#offeredBySecond, this.#second(intendedMs));
  }

  /** In a closed loop the window is over answers, in an open loop over intended starts: `atMs` is the one that counts. */
  good(atMs: number, intendedMs: number, latencyMs: number): void {
    if (!this.#inside(atMs)) return;
    bump(this.#goodBySecond, this.#second(intendedMs));
    this.#statuses['200'] = (this.#statuses['200'] ?? 0) + 1;
    this.#sum += latencyMs;
    if (this.#count === MAX_SAMPLES) return;
    if (this.#count === this.#samples.length) {
      const larger = new Float32Array(this.#samples.length * 2);
      larger.set(this.#samples);
      this.#samples = larger;
    }
    this.#samples[this.#count] = latencyMs;
    this.#count += 1;
  }

  /** The generator could not send it in time. */
  unsent(intendedMs: number): void {
    if (this.#inside(intendedMs)) this.#unsent += 1;
  }

  refused(atMs: number, status: number): void {
    if (this.#inside(atMs)) this.#statuses[status] = (this.#statuses[status] ?? 0) + 1;
  }

  failed(atMs: number, kind: FailureKind): void {
    if (this.#inside(atMs)) this.#failures[kind] += 1;
  }

  result(): LoadResult {
    const seconds = (this.#windowEnd - this.#windowStart) / 1000;
    const good = this.#statuses['200'] ?? 0;
    const sorted = this.#samples.subarray(0, this.#count).sort();
    const at = (ratio: number): number =>
      round(sorted[Math.min(sorted.length - 1, Math.floor(ratio * sorted.length))] ?? 0);
    return {
      seconds,
      started: this.#started,
      unsent: this.#unsent,
      good,
      goodPerSecond: round(good / seconds),
      statuses: this.#statuses,
      failures: this.#failures,
      latencyMs: {
        count: this.#count,
        mean: this.#count === 0 ? 0 : round(this.#sum / this.#count),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        p999: at(0.999),
        max: at(1),
      },
      maxLagMs: round(this.#maxLagMs),
      goodBySecond: Array.from(this.#goodBySecond, (count) => count ?? 0),
      offeredBySecond: Array.from(this.#offeredBySecond, (count) => count ?? 0),
    };
  }

  #inside(atMs: number): boolean {
    return atMs >= this.#windowStart && atMs < this.#windowEnd;
  }

  #second(atMs: number): number {
    return Math.max(0, Math.floor((atMs - this.#windowStart) / 1000));
  }
}

function bump(counts: number[], index: number): void {
  counts[index] = (counts[index] ?? 0) + 1;
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
