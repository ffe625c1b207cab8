/** Calls `tick` again and again; what it returns stops it. Tests bring one that they turn by hand. */
export type Ticker = (intervalMs: number, tick: () => void) => () => void;

/** The system's timer. It never keeps the program alive. */
export const systemTicker: Ticker = (intervalMs, tick) => {
  const timer = setInterval(tick, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
};

/** Calls `continuation` once everybody else has had a turn. */
export function inNextTurn(continuation: () => void): void {
  setImmediate(continuation);
}
