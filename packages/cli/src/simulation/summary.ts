import type { WorldResult } from './world.ts';

/** What is told of a world, by people and programs. */
export interface Summary {
  readonly scenario: string;
  readonly seed: number;
  readonly requests: number;
  readonly good: number;
  readonly refused: number;
  readonly late: number;
  readonly failed: number;
  readonly gone: number;
  /** Good answers a second in the measured stretch, in parts of what the best rung can do. */
  readonly goodputRatio: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** From the end of the disturbance to the last bad quarter of a second. */
  readonly recoveryMs: number | undefined;
  /** Attempts for each request. */
  readonly amplification: number;
  readonly ladderChanges: number;
  /** Times that an invariant was looked at. */
  readonly checks: number;
  readonly invariants: number;
  readonly steps: number;
}

export function summaryOf(result: WorldResult): Summary {
  const { plan, seed, tally, capacityPerSecond, recoveryMs, ladderChanges, checked, steps } = result;
  const { fromMs, untilMs } = plan.measured ?? { fromMs: 0, untilMs: plan.durationMs };
  const sorted = Float64Array.from(tally.latenciesMs).sort();
  let checks = 0;
  for (const count of checked.values()) checks += count;
  const { requests, good, refused, late, failed, gone, measuredGood, attempts } = tally;
  return {
    scenario: plan.name,
    seed,
    requests,
    good,
    refused,
    late,
    failed,
    gone,
    goodputRatio: (measuredGood * 1000) / (untilMs - fromMs) / Math.max(1e-9, capacityPerSecond),
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    recoveryMs,
    amplification: attempts / Math.max(1, requests),
    ladderChanges: ladderChanges.length,
    checks,
    invariants: checked.size,
    steps,
  };
}

/** The smallest value that so large a part of all is not above; 0 of nothing. */
function quantile(sorted: Float64Array, ratio: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * ratio) - 1)] ?? 0;
}
