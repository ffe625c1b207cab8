import { performance } from 'node:perf_hooks';
import { SeededRandom } from '@gimbal/core';
import type { DeviceSample } from '../device-reading.ts';
import { DeviceWatch, type DeviceWatchOptions, type WatchState } from '../device-watch.ts';

/** A watch on real processes that can be waited for; its limits are short so that tests are. */
export class WatchHarness {
  readonly watch: DeviceWatch;
  readonly states: WatchState[] = [];
  readonly samples: DeviceSample[] = [];
  readonly troubles: string[] = [];
  #waiting: (() => void)[] = [];

  constructor(options: Partial<DeviceWatchOptions>) {
    this.watch = new DeviceWatch({
      clock: { now: () => performance.now(), wallTimeMs: () => 0 },
      random: new SeededRandom(1),
      environment: {},
      onState: (state) => this.#keep(this.states, state),
      onSample: (sample) => this.#keep(this.samples, sample),
      onTrouble: (reason) => this.#keep(this.troubles, reason),
      ...options,
      limits: { silenceMs: 2000, tickMs: 20, intervalMs: 20, ...options.limits },
    });
  }

  /** Resolves when the condition holds after some event; the test's own limit is its end. */
  readonly until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  };

  /** Resolves with the first state of a kind that is entered, also one that was before. */
  readonly reached = async <K extends WatchState['kind']>(
    kind: K,
  ): Promise<Extract<WatchState, { kind: K }>> => {
    await this.until(() => this.states.some((state) => state.kind === kind));
    return this.states.find((state) => state.kind === kind) as Extract<WatchState, { kind: K }>;
  };

  #keep<T>(list: T[], item: T): void {
    list.push(item);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}

/** Restarts at once, and takes so many ends in a row for a loop. */
export function quickRestarts(loopExits: number) {
  let exits = 0;
  return {
    next: () => {
      exits += 1;
      return { state: exits >= loopExits ? ('faulted' as const) : ('backoff' as const), delayMs: 0 };
    },
  };
}
