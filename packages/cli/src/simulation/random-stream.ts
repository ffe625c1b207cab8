import { type Random, SeededRandom } from '@gimbal/core';

/** FNV-1a, 32 bits: any text as a number. */
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * A stream of randomness of its own for each part of a world, so that a change in one (one client more) does not shift
 * the luck of all others.
 */
export function randomStream(seed: number, name: string): Random {
  let hash = FNV_OFFSET ^ seed;
  for (let index = 0; index < name.length; index += 1) {
    hash = Math.imul(hash ^ name.charCodeAt(index), FNV_PRIME);
  }
  return new SeededRandom(hash ^ Math.imul(seed, 0x85ebca6b));
}

/** Time until the next event of a Poisson process, in units of its mean gap. */
export function exponential(random: Random): number {
  return -Math.log(1 - random.next());
}

/** A standard normal value (Box and Muller, 1958). */
export function gaussian(random: Random): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random.next()));
  return radius * Math.cos(2 * Math.PI * random.next());
}

export function uniform(random: Random, range: { readonly low: number; readonly high: number }): number {
  return range.low + random.next() * (range.high - range.low);
}

export function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[Math.floor(random.next() * items.length)] as Item;
}

export function chance(random: Random, ratio: number): boolean {
  return ratio > 0 && random.next() < ratio;
}
