import type { Instant } from '../base/time.ts';
import type { Work } from './work.ts';

/** Works whose urgencies are this near count as equally urgent. */
export const SLOT_MS = 20;
/** The window is 2.56 s long; what is due later counts as due last. */
const SLOTS = 128;
/** `demandSlot` of a work that was due beyond the window when it came. */
const BEYOND = -1;

/**
 * How much of a flow is due by when, so that admission sees what a work with an earlier deadline would overtake, in
 * constant time whatever waits. A ring of slots on the clock; what is overdue is one sum.
 */
export class DemandCurve<Payload> {
  readonly #units = new Float64Array(SLOTS);
  /** First slot of the window, counted from the clock's zero. */
  #base: number;
  #overdue = 0;
  #beyond = 0;

  constructor(now: Instant) {
    this.#base = slotOf(now);
  }

  add(work: Work<Payload>, now: Instant): void {
    this.#advance(now);
    const slot = slotOf(work.urgency);
    work.demandSlot = slot >= this.#base + SLOTS ? BEYOND : slot;
    this.#change(work, work.units);
  }

  /** So many units of a work that was added no longer wait. */
  remove(work: Work<Payload>, units: number): void {
    this.#change(work, -units);
  }

  /** Units that are due before a work of this urgency, or with it. */
  upTo(urgency: Instant): number {
    const slot = slotOf(urgency);
    let units = this.#overdue;
    for (let at = this.#base; at <= slot && at < this.#base + SLOTS; at += 1) units += this.#at(at);
    return slot >= this.#base + SLOTS ? units + this.#beyond : units;
  }

  /**
   * Whether everything that is due after a work of this urgency still fits behind it: asks `fits` for each later slot
   * with something in it, given all units due by its start.
   */
  laterFits(urgency: Instant, fits: (units: number, by: Instant) => boolean): boolean {
    const first = Math.max(this.#base, slotOf(urgency) + 1);
    let units = this.upTo(urgency);
    for (let at = first; at < this.#base + SLOTS; at += 1) {
      const here = this.#at(at);
      if (here <= 0) continue;
      units += here;
      if (!fits(units, at * SLOT_MS)) return false;
    }
    return true;
  }

  #advance(now: Instant): void {
    const base = slotOf(now);
    if (base - this.#base > SLOTS) {
      for (let index = 0; index < SLOTS; index += 1) this.#overdue += this.#units[index] ?? 0;
      this.#units.fill(0);
      this.#base = base;
    }
    for (; this.#base < base; this.#base += 1) {
      this.#overdue += this.#at(this.#base);
      this.#units[this.#base % SLOTS] = 0;
    }
  }

  #at(slot: number): number {
    return this.#units[slot % SLOTS] ?? 0;
  }

  #change(work: Work<Payload>, units: number): void {
    if (work.demandSlot === BEYOND) this.#beyond += units;
    else if (work.demandSlot < this.#base) this.#overdue += units;
    else this.#units[work.demandSlot % SLOTS] = this.#at(work.demandSlot) + units;
  }
}

/** Instants before the clock's zero are of slot 0, as what is overdue. */
function slotOf(instant: Instant): number {
  return Math.max(0, Math.floor(instant / SLOT_MS));
}
