import { expect, it } from 'vitest';
import { OverloadedError } from '../errors.ts';
import { type DelayPlan, retryDelayMs } from './retry-delay.ts';

function aPlan(change: Partial<DelayPlan> = {}): DelayPlan {
  return {
    error: new OverloadedError('no'),
    attempt: 1,
    maxRetryDelayMs: 20_000,
    remainingMs: 30_000,
    random: 0.5,
    ...change,
  };
}

const asking = (retryAfterMs: number): OverloadedError => new OverloadedError('no', { retryAfterMs });

it.each([
  [1, 100],
  [2, 200],
  [3, 400],
  [10, 5000],
])('attempt %d is followed by a wait that is uniform up to a doubling ceiling', (attempt, middle) => {
  expect(retryDelayMs(aPlan({ attempt }))).toBe(middle);
  expect(retryDelayMs(aPlan({ attempt, random: 0 }))).toBe(0);
});

it('never comes sooner than the server asked', () => {
  expect(retryDelayMs(aPlan({ error: asking(3000) }))).toBe(3000);
  expect(retryDelayMs(aPlan({ error: asking(50) }))).toBe(100);
});

it('does not wait longer than the caller is ready to', () => {
  expect(retryDelayMs(aPlan({ error: asking(20_001) }))).toBeUndefined();
  expect(retryDelayMs(aPlan({ error: asking(277_403_000) }))).toBeUndefined();
});

it('does not wait beyond the deadline', () => {
  expect(retryDelayMs(aPlan({ error: asking(5000), remainingMs: 5000 }))).toBeUndefined();
  expect(retryDelayMs(aPlan({ remainingMs: 100 }))).toBeUndefined();
  expect(retryDelayMs(aPlan({ remainingMs: 101 }))).toBe(100);
});
