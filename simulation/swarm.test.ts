import { describe, expect, it } from 'vitest';
import { runWorld } from '../packages/cli/src/simulation/world.ts';
import { randomPlan, runSwarm } from './swarm.ts';

/** A minute on two cores would be too long for a unit test; `npm run sim -- --swarm 1000` looks at more. */
const SEEDS = 100;
const SEEDS_A_TEST = 25;

describe('the swarm', () => {
  for (let first = 1; first <= SEEDS; first += SEEDS_A_TEST) {
    it(`keeps all invariants in the worlds of the seeds from ${first} on`, () => {
      const { violations, worlds, checks } = runSwarm({ first, count: SEEDS_A_TEST });
      // Each says how to see it again.
      expect(violations.map(({ message }) => message)).toEqual([]);
      expect(worlds).toBe(SEEDS_A_TEST);
      expect(checks).toBeGreaterThan(0);
    });
  }

  it('draws the same world from the same seed, and another from another', () => {
    expect(randomPlan(7)).toEqual(randomPlan(7));
    expect(randomPlan(7)).not.toEqual(randomPlan(8));
    const [one, other] = [1, 2].map(() => runWorld({ plan: randomPlan(7), seed: 7 }));
    expect(one?.tally).toEqual(other?.tally);
    expect(one?.steps).toBe(other?.steps);
  });
});
