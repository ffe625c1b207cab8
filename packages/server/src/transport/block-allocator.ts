import { assert, type Span } from '@gimbal/core';

/** Granularity and alignment: a cache line, and enough for every datatype. */
export const BLOCK_BYTES = 64;
/** Subdivisions of each power of two of sizes. */
const CLASSES_PER_POWER = 8;
const CLASS_COUNT = 30 * CLASSES_PER_POWER;
/** Blocks of the request's own class that are looked at before a larger one is split. */
const MAX_TRIES = 8;

const EMPTY: Span = Object.freeze({ offset: 0, byteLength: 0 });

/** A stretch of memory, used or free; linked to its neighbours in address order. Lengths are in units of 64 bytes. */
interface Stretch {
  start: number;
  units: number;
  free: boolean;
  before: Stretch | undefined;
  after: Stretch | undefined;
  /** Neighbours in the list of free stretches of one class. */
  previousFree: Stretch | undefined;
  nextFree: Stretch | undefined;
}

/**
 * Hands out spans of a region in constant time (two-level segregated fit, Masmano et al. 2004): free stretches are kept
 * in classes of like sizes, neighbours that become free grow together. A larger stretch is split from its low end and
 * goes on being split by the next requests, so that equal sizes asked for in a row lie side by side in ascending order
 * and a batch of them can be wrapped as one tensor; and memory freed last is used first, while caches still hold it.
 */
export class BlockAllocator {
  readonly capacity: number;
  readonly #classes: (Stretch | undefined)[] = new Array(CLASS_COUNT).fill(undefined);
  /** One bit for each class that has a free stretch. */
  readonly #occupied = new Uint32Array(Math.ceil(CLASS_COUNT / 32));
  readonly #used = new Map<number, Stretch>();
  #usedUnits = 0;

  constructor(capacity: number) {
    assert(capacity >= BLOCK_BYTES && capacity % BLOCK_BYTES === 0, 'capacity is a multiple of 64 bytes');
    this.capacity = capacity;
    this.#addFree({
      start: 0,
      units: capacity / BLOCK_BYTES,
      free: true,
      before: undefined,
      after: undefined,
      previousFree: undefined,
      nextFree: undefined,
    });
  }

  /** Bytes now allocated, rounded up to whole blocks. */
  get used(): number {
    return this.#usedUnits * BLOCK_BYTES;
  }

  /** A span of exactly `byteLength` bytes at a multiple of 64; undefined when no free stretch is large enough. */
  allocate(byteLength: number): Span | undefined {
    assert(byteLength >= 0, 'a span has no negative length');
    if (byteLength === 0) return EMPTY;
    if (byteLength > this.capacity) return undefined;
    const units = Math.ceil(byteLength / BLOCK_BYTES);
    const stretch = this.#find(units);
    if (!stretch) return undefined;
    this.#removeFree(stretch);
    if (stretch.units > units) this.#addFree(splitAfter(stretch, units));
    stretch.free = false;
    this.#used.set(stretch.start, stretch);
    this.#usedUnits += units;
    return { offset: stretch.start * BLOCK_BYTES, byteLength };
  }

  free(span: Span): void {
    if (span.byteLength === 0) return;
    const start = span.offset / BLOCK_BYTES;
    const stretch = this.#used.get(start);
    assert(stretch && stretch.units === Math.ceil(span.byteLength / BLOCK_BYTES), 'a span is freed once');
    this.#used.delete(start);
    this.#usedUnits -= stretch.units;
    stretch.free = true;
    const { before, after } = stretch;
    if (after?.free) {
      this.#removeFree(after);
      absorbNext(stretch, after);
    }
    if (before?.free) {
      this.#removeFree(before);
      absorbNext(before, stretch);
      this.#addFree(before);
    } else {
      this.#addFree(stretch);
    }
  }

  #find(units: number): Stretch | undefined {
    const own = classOf(units);
    const near = this.#firstFit(own, { units, tries: MAX_TRIES });
    if (near) return near;
    const larger = this.#nextOccupied(own + 1);
    if (larger !== undefined) return this.#classes[larger];
    // The last resort before "full": everything of the own class; what is large enough may stand late in its list.
    return this.#firstFit(own, { units, tries: Number.POSITIVE_INFINITY });
  }

  #firstFit(index: number, { units, tries }: { units: number; tries: number }): Stretch | undefined {
    let stretch = this.#classes[index];
    for (let tried = 0; stretch && tried < tries; tried += 1) {
      if (stretch.units >= units) return stretch;
      stretch = stretch.nextFree;
    }
    return undefined;
  }

  #nextOccupied(from: number): number | undefined {
    for (let word = from >>> 5; word < this.#occupied.length; word += 1) {
      let bits = this.#occupied[word] as number;
      if (word === from >>> 5) bits &= (-1 << (from & 31)) >>> 0;
      // The lowest bit that is set.
      if (bits !== 0) return word * 32 + (31 - Math.clz32(bits & -bits));
    }
    return undefined;
  }

  #addFree(stretch: Stretch): void {
    const index = classOf(stretch.units);
    const head = this.#classes[index];
    stretch.previousFree = undefined;
    stretch.nextFree = head;
    if (head) head.previousFree = stretch;
    this.#classes[index] = stretch;
    this.#occupied[index >>> 5] = (this.#occupied[index >>> 5] as number) | (1 << (index & 31));
  }

  #removeFree(stretch: Stretch): void {
    const { previousFree, nextFree } = stretch;
    if (nextFree) nextFree.previousFree = previousFree;
    if (previousFree) {
      previousFree.nextFree = nextFree;
    } else {
      const index = classOf(stretch.units);
      this.#classes[index] = nextFree;
      if (!nextFree) {
        this.#occupied[index >>> 5] = (this.#occupied[index >>> 5] as number) & ~(1 << (index & 31));
      }
    }
    stretch.previousFree = undefined;
    stretch.nextFree = undefined;
  }
}

/** Sizes below 8 units have a class each; above, each power of two has 8. */
function classOf(units: number): number {
  if (units < CLASSES_PER_POWER) return units;
  const power = 31 - Math.clz32(units);
  return (power - 2) * CLASSES_PER_POWER + ((units >>> (power - 3)) & (CLASSES_PER_POWER - 1));
}

/** Shortens a stretch to `units` and returns the rest of it. */
function splitAfter(stretch: Stretch, units: number): Stretch {
  const rest: Stretch = {
    start: stretch.start + units,
    units: stretch.units - units,
    free: true,
    before: stretch,
    after: stretch.after,
    previousFree: undefined,
    nextFree: undefined,
  };
  if (stretch.after) stretch.after.before = rest;
  stretch.after = rest;
  stretch.units = units;
  return rest;
}

function absorbNext(stretch: Stretch, next: Stretch): void {
  stretch.units += next.units;
  stretch.after = next.after;
  if (next.after) next.after.before = stretch;
}
