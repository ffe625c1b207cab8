/** How often the event loop is looked at. */
export const LOOK_INTERVAL_MS = 20;
/** Weight of the newest look when turns get longer, and when they get shorter. */
const RISING_RATIO = 0.5;
const FALLING_RATIO = 0.1;
/** A turn of the event loop that takes so long makes every request in it wait that long before anybody sees it. */
const SATURATED_MS = 60;
const RELIEVED_MS = 25;

/**
 * Decides whether the event loop itself is what requests wait for: whether a timer comes late look after look. Requests
 * that wait in the kernel are older than their receipt says, and each new connection makes it worse.
 *
 * Why this design: one late timer is a collection or a parse; lateness that stays is a loop with more to do in a turn than
 * fits. Enters fast, leaves slowly. Event-loop utilisation says 1 for a loop that is busy and fine.
 */
export class LoopPressure {
  #lateMs = 0;
  #saturated = false;

  get saturated(): boolean {
    return this.#saturated;
  }

  /** A look came so much later than it should have. */
  observed(lateMs: number): void {
    const ratio = lateMs > this.#lateMs ? RISING_RATIO : FALLING_RATIO;
    this.#lateMs += ratio * (Math.max(0, lateMs) - this.#lateMs);
    if (this.#lateMs >= SATURATED_MS) this.#saturated = true;
    else if (this.#lateMs < RELIEVED_MS) this.#saturated = false;
  }
}
