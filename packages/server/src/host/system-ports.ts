import { performance } from 'node:perf_hooks';
import type { Clock, Random } from '@gimbal/core';

/** The operating system's clock: the only place in the server where real time enters. */
export const systemClock: Clock = {
  now: () => performance.now(),
  wallTimeMs: () => performance.timeOrigin + performance.now(),
};

/** Jitter and identifiers, nothing secret: the language's own generator is good enough. */
export const systemRandom: Random = { next: () => Math.random() };
