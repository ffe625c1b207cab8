import type { Instant } from '@gimbal/core';
import { NEVER } from '@gimbal/core';

interface Entry {
  readonly at: Instant;
  /** Things due at one instant happen in the order in which they were planned: a replay is exact. */
  readonly sequence: number;
  readonly action: () => void;
}

/** Virtual time: it moves only from one planned action to the next. */
export class VirtualClock {
  #now: Instant = 0;
  #sequence = 0;
  /** Binary heap by instant, then by order of planning. */
  readonly #entries: Entry[] = [];

  get now(): Instant {
    return this.#now;
  }

  /** When the next action is due; NEVER when none is planned. */
  get next(): Instant {
    const first = this.#entries[0];
    return first ? Math.max(first.at, this.#now) : NEVER;
  }

  /** Plans an action; one in the past happens at once, after what is due already. */
  at(at: Instant, action: () => void): void {
    this.#sequence += 1;
    this.#push({ at, sequence: this.#sequence, action });
  }

  after(delayMs: number, action: () => void): void {
    this.at(this.#now + delayMs, action);
  }

  /** Moves to an instant and runs everything that is due there, also what is planned for it meanwhile. */
  moveTo(at: Instant): void {
    this.#now = Math.max(this.#now, at);
    for (let first = this.#entries[0]; first && first.at <= this.#now; first = this.#entries[0]) {
      this.#shift();
      first.action();
    }
  }

  #push(entry: Entry): void {
    const entries = this.#entries;
    let index = entries.length;
    entries.push(entry);
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = entries[parentIndex];
      if (!parent || isBefore(parent, entry)) break;
      entries[index] = parent;
      index = parentIndex;
    }
    entries[index] = entry;
  }

  #shift(): void {
    const entries = this.#entries;
    const last = entries.pop();
    if (!last || entries.length === 0) return;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const leftEntry = entries[left];
      if (!leftEntry) break;
      const rightEntry = entries[left + 1];
      const isRight = rightEntry !== undefined && isBefore(rightEntry, leftEntry);
      const child = isRight ? rightEntry : leftEntry;
      if (isBefore(last, child)) break;
      entries[index] = child;
      index = isRight ? left + 1 : left;
    }
    entries[index] = last;
  }
}

function isBefore(one: Entry, other: Entry): boolean {
  return one.at < other.at || (one.at === other.at && one.sequence < other.sequence);
}
