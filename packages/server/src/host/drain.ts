import type { Clock } from '@gimbal/core';

export interface DrainSteps {
  /** `/readyz` fails from now on and answers carry `Connection: close`. */
  announce(): void;
  /** No new connections; idle ones are closed. Resolves when the busy ones are done, or after the given time. Told again,
   * the shorter time counts; likewise for runners. */
  closeListeners(graceMs: number): Promise<void>;
  /** Runners end when their batches have, at most after the given time. */
  stopRunners(graceMs: number): Promise<void>;
  /** Logs and the like are written out. */
  flush(): Promise<void>;
}

export interface DrainTimes {
  /** Requests go on being accepted while balancers notice. */
  readonly lameDuckMs: number;
  /** Work in flight is waited for at most this long. */
  readonly drainTimeoutMs: number;
}

/** After a second signal nothing is waited for longer than this. */
const HURRY_MS = 500;

/**
 * Orderly end, as measured in the design: lame duck, then listeners, then runners. Exiting at once loses 11 % of the
 * requests of a rolling restart, closing the server at once 3.65 %, 3 s of lame duck none of 34,000.
 */
export class Drain {
  readonly #steps: DrainSteps;
  readonly #times: DrainTimes;
  readonly #clock: Clock;
  #finished: Promise<void> | undefined;
  /** Cuts short what is being waited for. */
  #hurry: (() => void) | undefined;
  #hurried = false;

  constructor(steps: DrainSteps, times: DrainTimes, clock: Clock) {
    this.#steps = steps;
    this.#times = times;
    this.#clock = clock;
  }

  get started(): boolean {
    return this.#finished !== undefined;
  }

  /** The first call starts the drain; the second shortens it; further ones change nothing. */
  request(): Promise<void> {
    if (this.#finished) {
      this.#hurried = true;
      this.#hurry?.();
    } else {
      this.#finished = this.#run();
    }
    return this.#finished;
  }

  async #run(): Promise<void> {
    const endsAt = this.#clock.now() + this.#times.lameDuckMs + this.#times.drainTimeoutMs;
    this.#steps.announce();
    await this.#lameDuck();
    await this.#step(this.#steps.closeListeners, endsAt);
    await this.#step(this.#steps.stopRunners, endsAt);
    await this.#steps.flush();
  }

  /** A step that is told again takes the shorter time. */
  #step(step: (graceMs: number) => Promise<void>, endsAt: number): Promise<void> {
    this.#hurry = () => void step(HURRY_MS);
    return step(this.#hurried ? HURRY_MS : Math.max(HURRY_MS, endsAt - this.#clock.now()));
  }

  #lameDuck(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#times.lameDuckMs);
      this.#hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
