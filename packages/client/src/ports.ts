/** What the client needs of the platform; tests put a clock of their own here. */
export interface Ports {
  /** Monotonic, in ms. */
  now(): number;
  /** Since 1970, in ms: only dates of `Retry-After` need it. */
  wallTimeMs(): number;
  /** Uniform in [0, 1). */
  random(): number;
  /** Calls once after a delay; the result cancels. */
  after(delayMs: number, run: () => void): () => void;
  /** 128 random bits in hexadecimal. */
  key(): string;
}

/** Longer delays would fire at once: timers count in 31 bits. */
const MAX_TIMER_MS = 2_147_483_647;

/** Clock, timers and randomness that every runtime has. */
export const systemPorts: Ports = {
  now: () => performance.now(),
  wallTimeMs: () => Date.now(),
  random: () => Math.random(),
  after(delayMs, run) {
    const timer = setTimeout(run, Math.min(delayMs, MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
  // Not `randomUUID`: pages without TLS do not have it.
  key: () =>
    Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
      '',
    ),
};
