import type { Clock, Random } from '@gimbal/core';

const MAX_LENGTH = 128;

/** Two hexadecimal digits of each byte: four of these lookups cost less than one `toString(16)`. */
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** `[A-Za-z0-9._-]{1,128}`. */
export function isRequestId(text: string): boolean {
  if (text.length === 0 || text.length > MAX_LENGTH) return false;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    const lower = code | 0x20;
    const isAccepted =
      (lower >= 0x61 && lower <= 0x7a) ||
      (code >= 0x30 && code <= 0x39) ||
      code === 0x2d ||
      code === 0x2e ||
      code === 0x5f;
    if (!isAccepted) return false;
  }
  return true;
}

/** Makes UUIDs of version 7 (RFC 9562, section 5.7): 48 bits of wall time, then 74 random bits. */
export class RequestIds {
  readonly #clock: Clock;
  readonly #random: Random;
  #milliseconds = -1;
  /** `tttttttt-tttt-7` of `#milliseconds`. */
  #head = '';

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  next(): string {
    const now = Math.floor(this.#clock.wallTimeMs());
    if (now !== this.#milliseconds) {
      const hex = now.toString(16).padStart(12, '0');
      this.#milliseconds = now;
      this.#head = `${hex.slice(0, 8)}-${hex.slice(8)}-`;
    }
    const first = this.#word();
    const second = this.#word();
    const third = this.#word();
    return `${this.#head}${HEX[0x70 | (first & 0x0f)]}${HEX[(first >>> 8) & 0xff]}-${HEX[0x80 | ((first >>> 16) & 0x3f)]}${HEX[first >>> 24]}-${HEX[second & 0xff]}${HEX[(second >>> 8) & 0xff]}${HEX[(second >>> 16) & 0xff]}${HEX[second >>> 24]}${HEX[third & 0xff]}${HEX[(third >>> 8) & 0xff]}`;
  }

  #word(): number {
    return (this.#random.next() * 4294967296) >>> 0;
  }
}
