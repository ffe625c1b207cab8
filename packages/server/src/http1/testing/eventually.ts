const PATIENCE_MS = 10_000;
const POLL_MS = 2;
const STILL_MS = 100;

/** Waits for what other parties bring about. */
export async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`it never came to be: ${condition}`);
    await pause(POLL_MS);
  }
}

/** Waits until a number stands still. */
export async function settled(value: () => number): Promise<void> {
  let before = Number.NaN;
  while (before !== value()) {
    before = value();
    await pause(STILL_MS);
  }
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
