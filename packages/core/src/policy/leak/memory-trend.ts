import { assert } from '../../base/assert.ts';
import type { Instant } from '../../base/time.ts';

export interface MemoryPoint {
  /** Requests that the process had served. */
  readonly requests: number;
  readonly bytes: number;
  readonly at: Instant;
}

/**
 * Points of the low tide of memory: each stands for equally many samples and is the lowest of them, so that what a
 * garbage collector takes back is not seen as growth. When they are full, pairs become one: the points then reach
 * twice as far back. At `maxPointSamples` they become a window that moves on. Bounded, and constant work a sample.
 */
export class MemoryTrend {
  readonly #maxPoints: number;
  readonly #maxPointSamples: number;
  #points: MemoryPoint[] = [];
  /** Samples that a point stands for now. */
  #stride = 1;
  #lowest: MemoryPoint | undefined = undefined;
  #pending = 0;

  constructor(limits: { maxPoints: number; maxPointSamples: number }) {
    assert(limits.maxPoints >= 2 && limits.maxPoints % 2 === 0, 'points are merged in pairs');
    this.#maxPoints = limits.maxPoints;
    this.#maxPointSamples = limits.maxPointSamples;
  }

  get points(): readonly MemoryPoint[] {
    return this.#points;
  }

  /** True when a point was added. */
  add(sample: MemoryPoint): boolean {
    this.#lowest = this.#lowest ? lower(this.#lowest, sample) : sample;
    this.#pending += 1;
    if (this.#pending < this.#stride) return false;
    if (this.#points.length === this.#maxPoints) this.#makeRoom();
    if (this.#pending < this.#stride) return false;
    this.#points.push(this.#lowest);
    this.#lowest = undefined;
    this.#pending = 0;
    return true;
  }

  #makeRoom(): void {
    if (this.#stride * 2 > this.#maxPointSamples) {
      this.#points.shift();
      return;
    }
    const merged: MemoryPoint[] = [];
    for (let index = 0; index < this.#points.length; index += 2) {
      const [first, second] = this.#points.slice(index, index + 2);
      if (first) merged.push(second ? lower(first, second) : first);
    }
    this.#points = merged;
    this.#stride *= 2;
  }
}

function lower(one: MemoryPoint, other: MemoryPoint): MemoryPoint {
  return other.bytes < one.bytes ? other : one;
}
