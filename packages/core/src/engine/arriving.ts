import type { Instant } from '../base/time.ts';
import type { Criticality } from '../contract/inference-port.ts';
import { LANES } from './queue.ts';

const SLOT_MS = 25;
/** A body that takes longer than 400 ms is waited for, but no longer counted: slow clients must not keep others out. */
const SLOTS = 16;

/** A call that was admitted and whose work is still to come. */
export interface Arrival {
  /** Its work has come, or never will. Further calls do nothing. */
  end(): void;
}

/**
 * Units that were admitted before their bodies: nothing of them is queued yet, and all of it will be. Without them a
 * hundred bodies that arrive at once all see an empty queue.
 */
export class Arriving {
  readonly #lanes: Readonly<Record<Criticality, Float64Array>> = {
    critical: new Float64Array(SLOTS),
    default: new Float64Array(SLOTS),
    sheddable: new Float64Array(SLOTS),
  };
  /** Slot of the clock that was looked at last. */
  #slot = 0;

  add(of: { readonly lane: Criticality; readonly units: number }, now: Instant): Arrival {
    this.#turnTo(now);
    const slot = this.#slot;
    const units = this.#lanes[of.lane];
    units[slot % SLOTS] = (units[slot % SLOTS] ?? 0) + of.units;
    let ended = false;
    return {
      end: () => {
        if (ended) return;
        ended = true;
        if (this.#slot - slot >= SLOTS) return;
        units[slot % SLOTS] = Math.max(0, (units[slot % SLOTS] ?? 0) - of.units);
      },
    };
  }

  /** Units on their way in a lane and in those above it. */
  unitsUpTo(lane: Criticality, now: Instant): number {
    this.#turnTo(now);
    let sum = 0;
    for (const name of LANES) {
      for (const units of this.#lanes[name]) sum += units;
      if (name === lane) break;
    }
    // Sums of floating numbers drift.
    return sum < 1e-6 ? 0 : sum;
  }

  #turnTo(now: Instant): void {
    const slot = Math.floor(now / SLOT_MS);
    if (slot - this.#slot >= SLOTS) {
      for (const name of LANES) this.#lanes[name].fill(0);
      this.#slot = slot;
    }
    for (; this.#slot < slot; this.#slot += 1) {
      for (const name of LANES) this.#lanes[name][(this.#slot + 1) % SLOTS] = 0;
    }
  }
}
