/**
 * Lets a few variants load at a time. A load ends with a self-profile that decides whether batching pays: measured
 * beside other loads on the same cores, it would measure those.
 */
export class LoadGate {
  readonly #limit: number;
  readonly #waiting: (() => void)[] = [];
  #loading = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Runs `start` when it is its turn; the turn lasts until the function given to `start` is called. */
  enter(start: (leave: () => void) => void): void {
    const begin = (): void => {
      this.#loading += 1;
      let left = false;
      start(() => {
        if (left) return;
        left = true;
        this.#loading -= 1;
        this.#waiting.shift()?.();
      });
    };
    if (this.#loading < this.#limit) begin();
    else this.#waiting.push(begin);
  }
}
