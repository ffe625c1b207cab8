import type { Instant } from '@gimbal/core';

/** Lets a few processes load at a time, over all pools of a host. */
export interface StartGate {
  /** Runs `start` when it is its turn; the turn lasts until the function given to `start` is called. */
  enter(start: (leave: () => void) => void): void;
}

/** Everybody at once. */
export const OPEN_GATE: StartGate = { enter: (start) => start(() => {}) };

/** The turns that the processes of one pool have; each ends when its process is ready or gone, or takes too long. */
export class GateTurns {
  readonly #turns = new Map<string, { readonly leave: () => void; readonly until: Instant }>();

  begin(id: string, leave: () => void, until: Instant): void {
    this.#turns.set(id, { leave, until });
  }

  end(id: string): void {
    const turn = this.#turns.get(id);
    this.#turns.delete(id);
    turn?.leave();
  }

  endOverdue(now: Instant): void {
    for (const [id, { until }] of [...this.#turns]) if (now >= until) this.end(id);
  }
}
