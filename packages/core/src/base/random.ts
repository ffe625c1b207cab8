/** A source of randomness handed in by a driver, or seeded by a test or simulation. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
}

/**
 * A small seeded generator (sfc32, Chris Doty-Humphrey's PractRand): good statistics, 4 words of state, the same
 * stream on every machine, so a printed seed replays a run exactly.
 */
export class SeededRandom implements Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number) {
    this.#a = seed | 0;
    this.#b = Math.imul(seed, 0x9e3779b9) | 0;
    this.#c = 0x2545f491;
    for (let round = 0; round < 12; round += 1) this.next();
  }

  next(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    this.#c |= 0;
    return (sum >>> 0) / 4294967296;
  }
}

/** A uniform integer in [low, high], both ends included. */
export function randomInteger(random: Random, range: { low: number; high: number }): number {
  return range.low + Math.floor(random.next() * (range.high - range.low + 1));
}
