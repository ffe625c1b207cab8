import { describe, expect, it } from 'vitest';
import { type Summary, summaryOf } from '../packages/cli/src/simulation/summary.ts';
import { runWorld } from '../packages/cli/src/simulation/world.ts';
import { planOf, SCENARIOS, scenarioNamed } from './scenarios.ts';

function outcomeOf(name: string, seed = 2): Summary {
  const scenario = scenarioNamed(name);
  if (!scenario) throw new Error(`Cannot run ${name}: no such scenario`);
  return summaryOf(runWorld({ plan: planOf(scenario), seed }));
}

describe('scenarios', () => {
  it('have names of their own', () => {
    expect(new Set(SCENARIOS.map(({ name }) => name)).size).toBe(SCENARIOS.length);
  });

  it('steady load below the capacity is answered without a refusal', () => {
    const { good, requests } = outcomeOf('steady');
    expect(good).toBe(requests);
  });

  it.each([
    ['overload-2x', 0.95],
    ['overload-5x', 0.95],
    ['overload-10x', 0.9],
  ])('%s keeps its goodput and recovers at once', (name, least) => {
    const { goodputRatio, recoveryMs, p99Ms } = outcomeOf(name);
    expect(goodputRatio).toBeGreaterThanOrEqual(least);
    expect(recoveryMs).toBeLessThanOrEqual(3000);
    expect(p99Ms).toBeLessThanOrEqual(500);
  });

  it.each(['runner-kill', 'runner-hang'])('%s loses nothing', (name) => {
    const { good, requests } = outcomeOf(name);
    expect(good).toBe(requests);
  });

  it('ladder-3x answers nearly all at three times the best rung, and changes seldom', () => {
    const { good, requests, ladderChanges } = outcomeOf('ladder-3x');
    expect(good / requests).toBeGreaterThan(0.98);
    expect(ladderChanges).toBeLessThanOrEqual(6);
  });
});
