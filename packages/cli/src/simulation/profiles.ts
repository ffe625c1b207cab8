import type { CostProfile } from '@gimbal/core';
import { aRung, type RungPlan } from './plan.ts';

/** A model as it measures itself, with its ladder: best rung first. */
export interface ModelProfile {
  readonly name: string;
  readonly about: string;
  readonly rungs: readonly { readonly name: string; readonly profile: CostProfile }[];
}

function profile(fixedMs: number, perRowMs: number, bestRows: number): CostProfile {
  return {
    fixedMs,
    perRowMs,
    bestRows,
    points: [{ rows: bestRows, medianMs: fixedMs + perRowMs * bestRows }],
  };
}

/** Measured on two cores of a server; a machine of yours is faster or slower by a factor. */
export const MODEL_PROFILES: readonly ModelProfile[] = [
  {
    name: 'digits',
    about: 'a tiny classifier: batches of 64 cost little more than one',
    rungs: [{ name: 'fp32', profile: profile(0.0245, 0.0036, 64) }],
  },
  {
    name: 'image',
    about: 'an image classifier on a CPU: batching does not pay',
    rungs: [{ name: 'int8', profile: profile(0.1, 7.4, 1) }],
  },
  {
    name: 'minilm',
    about: 'a sentence embedder: batches of 8',
    rungs: [{ name: 'int8', profile: profile(0.7, 1.7, 8) }],
  },
  {
    name: 'efficientnet',
    about: 'an image classifier with a ladder of three variants',
    rungs: [
      { name: 'lite4', profile: profile(0.1, 17.1, 1) },
      { name: 'lite2', profile: profile(0.1, 7.9, 1) },
      { name: 'lite0', profile: profile(0.1, 4.1, 1) },
    ],
  },
  {
    name: 'batcher',
    about: 'the model of our measurements: 20 + 0.5n ms, batches of 32',
    rungs: [{ name: 'fp32', profile: profile(20, 0.5, 32) }],
  },
];

export function rungsOf(model: ModelProfile, options: Partial<RungPlan> = {}): readonly RungPlan[] {
  return model.rungs.map(({ name, profile: measured }) => aRung({ ...options, name, profile: measured }));
}

export function profileNamed(name: string): ModelProfile | undefined {
  return MODEL_PROFILES.find((model) => model.name === name);
}
