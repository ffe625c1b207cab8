/** A point on the host's monotonic clock, in milliseconds. Core code receives it as `now`; it never reads a clock. */
export type Instant = number;

/** The latest instant there is: used where there is no deadline. */
export const NEVER: Instant = Number.POSITIVE_INFINITY;

/** What a driver gives to code that must see time pass. The only clock in the program outside this port is the operating system's. */
export interface Clock {
  /** Monotonic milliseconds, with a fraction. */
  now(): Instant;
  /** Milliseconds since the Unix epoch, for people and for Date headers; never for durations. */
  wallTimeMs(): number;
}
