import { aGroup, aPlan, type WorldPlan } from './plan.ts';
import { type ModelProfile, rungsOf } from './profiles.ts';

/** What somebody wants to know of a model. */
export interface ModelQuestion {
  readonly model: ModelProfile;
  readonly ratePerSecond: number;
  /** Multiple of the rate, for 10 s in the middle. */
  readonly spikeFactor: number;
  readonly deadlineMs: number;
  readonly runners: number;
}

const BEFORE_MS = 5_000;
const SPIKE_MS = 10_000;
const AFTER_MS = 10_000;

/** The world of a model under a spike: before it, in it, and after it. */
export function modelPlan({
  model,
  ratePerSecond,
  spikeFactor,
  deadlineMs,
  runners,
}: ModelQuestion): WorldPlan {
  const spikeUntilMs = BEFORE_MS + SPIKE_MS;
  return aPlan({
    name: model.name,
    durationMs: spikeUntilMs + AFTER_MS,
    rungs: rungsOf(model, { runners }),
    // Rungs share the processor: runs of one would slow down those of another.
    maxRunning: model.rungs.length > 1 ? runners : undefined,
    load: [
      { untilMs: BEFORE_MS, factor: 1 },
      { untilMs: spikeUntilMs, factor: spikeFactor },
      { untilMs: spikeUntilMs + AFTER_MS, factor: 1 },
    ],
    measured: { fromMs: BEFORE_MS, untilMs: spikeUntilMs },
    calmFromMs: spikeUntilMs,
    groups: [aGroup({ requestsPerSecond: ratePerSecond, timeoutMs: { low: deadlineMs, high: deadlineMs } })],
  });
}

/** Requests that the world will see, about. */
export function requestsOf({ ratePerSecond, spikeFactor }: ModelQuestion): number {
  return (ratePerSecond * (BEFORE_MS + AFTER_MS + spikeFactor * SPIKE_MS)) / 1000;
}
