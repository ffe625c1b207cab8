import type { Clock, PoolEvents, Random, RestartBackoff, VersionSpec } from '@gimbal/core';
import type { Arena } from '../transport/arena.ts';
import type { RunnerLine } from './process-options.ts';
import type { RunnerLimits } from './runner-limits.ts';
import type { StartGate } from './start-gate.ts';

export interface RunnerPoolOptions {
  readonly spec: VersionSpec;
  /** Index of the variant in `spec.variants`. */
  readonly variant: number;
  /** Threads inside one run. */
  readonly threads: number;
  /** Execution providers, tried in order. Default: `['cpu']`. */
  readonly providers?: readonly string[];
  /** The version's memory; it must outlive the pool. */
  readonly arena: Arena;
  readonly events: PoolEvents;
  readonly clock: Clock;
  readonly random: Random;
  /** What runners print, line by line, bounded in length and rate. */
  readonly onLine?: (line: RunnerLine) => void;
  readonly limits?: Partial<RunnerLimits>;
  /** Default: exponential back-off with jitter, crash loops probed slowly. */
  readonly restarts?: Pick<RestartBackoff, 'next'>;
  /**
   * Whose turn it is to load, for all starts but those of `start()`: what crashed together must not load together. Not the
   * gate that `start()` itself is behind, which would wait for itself. Default: everybody at once.
   */
  readonly gate?: StartGate;
  /** Where a runner's memory ends, for the projection of a leak; undefined when nothing limits it. */
  readonly memoryLimitBytes?: number;
  /** Whether faults may be injected into runners. Default: false. */
  readonly drills?: boolean;
  /** Path of the runner's program. Default: ours. */
  readonly program?: string;
}
