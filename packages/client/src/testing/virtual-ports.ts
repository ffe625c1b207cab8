import type { Ports } from '../ports.ts';

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** A clock that a test turns; timers fire in their order. */
export class VirtualPorts implements Ports {
  /** What `random` gives. */
  randomValue = 0.5;
  /** Delays that were asked for, in order. */
  readonly delays: number[] = [];
  readonly #timers = new Set<Timer>();
  #now = 1000;
  #keys = 0;

  now(): number {
    return this.#now;
  }

  wallTimeMs(): number {
    return Date.UTC(2026, 0, 1) + this.#now;
  }

  random(): number {
    return this.randomValue;
  }

  key(): string {
    this.#keys += 1;
    return `key-${this.#keys}`;
  }

  after(delayMs: number, run: () => void): () => void {
    const timer = { at: this.#now + delayMs, run };
    this.delays.push(delayMs);
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  get pending(): number {
    return this.#timers.size;
  }

  /** Lets promises settle, then time pass, timer by timer. */
  async pass(durationMs: number): Promise<void> {
    const end = this.#now + durationMs;
    await settle();
    for (;;) {
      const due = [...this.#timers]
        .filter(({ at }) => at <= end)
        .sort((left, right) => left.at - right.at)[0];
      if (!due) break;
      this.#timers.delete(due);
      this.#now = Math.max(this.#now, due.at);
      due.run();
      await settle();
    }
    this.#now = end;
  }
}

/** Promises that are ready to settle do. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}
