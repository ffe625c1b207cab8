import type { ConcurrencyLimiter } from './naive-engine.ts';

/** The same number of works, whatever happens. */
export class FixedLimiter implements ConcurrencyLimiter {
  readonly limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }

  ended(): void {}
}
