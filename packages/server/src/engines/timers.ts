/** Something that can be called off. */
export type CallOff = () => void;

/** Later, by the wall's pace: the only timers of this folder. Tests give one of their own. */
export interface Timers {
  after(delayMs: number, then: () => void): CallOff;
}

/** Longest delay that the platform's timers take. */
const MAX_DELAY_MS = 2_147_483_647;

export const systemTimers: Timers = {
  after: (delayMs, then) => {
    const timer = setTimeout(then, Math.min(Math.max(0, delayMs), MAX_DELAY_MS));
    return () => clearTimeout(timer);
  },
};
