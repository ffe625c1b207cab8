import { describe, expect, it } from 'vitest';
import { runWorld } from '../packages/cli/src/simulation/world.ts';
import { MUTATIONS, runMutations } from './mutations.ts';
import { planOf, scenarioNamed } from './scenarios.ts';

/** Sixteen worlds, one after the other. */
const TIMEOUT_MS = 120_000;

describe('the invariants', () => {
  it('find every planted fault', { timeout: TIMEOUT_MS }, () => {
    const results = runMutations(1);
    expect(
      results.filter(({ foundBy }) => foundBy === undefined).map(({ mutation }) => mutation.name),
    ).toEqual([]);
    expect(results.length).toBeGreaterThanOrEqual(10);
    // Not one that is always broken.
    expect(new Set(results.map(({ foundBy }) => foundBy)).size).toBeGreaterThanOrEqual(10);
  });

  it('hold in the same scenarios without the faults', { timeout: TIMEOUT_MS }, () => {
    for (const name of new Set(MUTATIONS.map(({ scenario }) => scenario))) {
      const scenario = scenarioNamed(name);
      expect(scenario, name).toBeDefined();
      if (scenario) expect(() => runWorld({ plan: planOf(scenario), seed: 1 })).not.toThrow();
    }
  });
});
