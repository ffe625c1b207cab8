/** Calls `tick` again and again; what it returns stops it. Tests bring one that they turn by hand. */
export type Ticker = (intervalMs: number, tick: () => void) => () => void;

/** The system's timer. It never keeps the program alive. */
export const systemTicker: Ticker = (intervalMs, tick) => {
  const timer = setInterval(tick, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
};
