import { describe, expect, it } from 'vitest';
import { TokenBudget } from './token-budget.ts';

function takeAll(budget: TokenBudget, now: number): number {
  let taken = 0;
  while (taken < 10_000 && budget.take(now)) taken += 1;
  return taken;
}

describe('TokenBudget', () => {
  it('gives a share of the calls, and the floor', () => {
    const budget = new TokenBudget({ ratio: 0.1, floor: 10 }, 0);
    for (let call = 0; call < 100; call += 1) budget.earn();
    expect(takeAll(budget, 0)).toBe(20);
  });

  it('keeps no more than a bounded number of calls are worth', () => {
    const budget = new TokenBudget({ ratio: 0.1, floor: 0 }, 0);
    for (let call = 0; call < 100_000; call += 1) budget.earn();
    expect(takeAll(budget, 0)).toBe(20);
  });

  it('gives the floor back one a second, and no more than it was', () => {
    const budget = new TokenBudget({ ratio: 0.1, floor: 10 }, 0);
    expect(takeAll(budget, 0)).toBe(10);
    expect(takeAll(budget, 999)).toBe(0);
    expect(takeAll(budget, 1000)).toBe(1);
    expect(takeAll(budget, 3999)).toBe(2);
    expect(takeAll(budget, 3_600_000)).toBe(10);
  });

  it('without share and floor gives nothing', () => {
    const budget = new TokenBudget({ ratio: 0, floor: 0 }, 0);
    budget.earn();
    expect(budget.take(1_000_000)).toBe(false);
  });
});
