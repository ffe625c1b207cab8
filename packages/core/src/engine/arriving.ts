import type { Instant } from '../base/time.ts';
import type { Criticality } from '../contract/inference-port.ts';
import { LANES } from './queue.ts';

const SLOT_MS = 25;
/** A body that takes longer than 400 ms is waited for, but no longer counted: slow clients must not keep others out. */
const SLOTS = 16;

/** Less is a rounding error. */
const LEAST_UNITS = 1e-6;

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
  readonly #sums: Record<Criticality, number> = { critical: 0, default: 0, sheddable: 0 };
  /** Slot of the clock that was looked at last. */
  #slot = 0;

  add(of: { readonly lane: Criticality; readonly units: number }, now: Instant): Arrival {
    this.#turnTo(now);
    const slot = this.#slot;
    const units = this.#lanes[of.lane];
    units[slot % SLOTS] = (units[slot % SLOTS] ?? 0) + of.units;
    this.#sums[of.lane] += of.units;
    let ended = false;
    return {
      end: () => {
        if (ended) return;
        ended = true;
        if (this.#slot - slot >= SLOTS) return;
        units[slot % SLOTS] = Math.max(0, (units[slot % SLOTS] ?? 0) - of.units);
        this.#sums[of.lane] -= of.units;
      },
    };
  }

  /** Units on their way in a lane and in those above it. */
  unitsUpTo(lane: Criticality, now: Instant): number {
    this.#turnTo(now);
    let sum = 0;
    for (const name of LANES) {
      sum += this.#sums[name];
      if (name === lane) break;
    }
    return sum < LEAST_UNITS ? 0 : sum;
  }

  #turnTo(now: Instant): void {
    const slot = Math.floor(now / SLOT_MS);
    if (slot === this.#slot) return;
    const passed = Math.min(SLOTS, slot - this.#slot);
    for (const name of LANES) {
      const units = this.#lanes[name];
      for (let step = 1; step <= passed; step += 1) units[(this.#slot + step) % SLOTS] = 0;
      // Anew, since differences of floating numbers drift.
      this.#sums[name] = units.reduce((sum, slotUnits) => sum + slotUnits, 0);
    }
    this.#slot = slot;
  }
}
