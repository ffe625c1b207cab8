import { SeededRandom } from '@gimbal/core';
import { expect, test } from 'vitest';
import { BackoffRestarts } from './restart-policy.ts';

const CRASH = { cause: 'crashed', readyMs: 5000 } as const;

test('BackoffRestarts waits longer after every crash, then probes a loop slowly', () => {
  const policy = new BackoffRestarts(new SeededRandom(1));
  const decisions = Array.from({ length: 6 }, (_, index) => policy.next(CRASH, index * 6000));
  expect(decisions.map(({ state }) => state)).toEqual([
    'backoff',
    'backoff',
    'backoff',
    'backoff',
    'faulted',
    'faulted',
  ]);
  const [first, second, third, fourth, fifth, sixth] = decisions.map(({ delayMs }) => delayMs);
  expect(first).toBeLessThanOrEqual(100);
  for (const [delay, limit] of [
    [second, 400],
    [third, 1600],
    [fourth, 6400],
    [fifth, 15_000],
    [sixth, 30_000],
  ]) {
    expect(delay).toBeLessThanOrEqual(limit ?? 0);
    expect(delay).toBeGreaterThanOrEqual((limit ?? 0) / 2);
  }
});

test('BackoffRestarts forgets crashes that are long ago', () => {
  const policy = new BackoffRestarts(new SeededRandom(1));
  for (let index = 0; index < 50; index += 1) {
    expect(policy.next(CRASH, index * 61_000)).toMatchObject({ state: 'backoff' });
  }
});

test('BackoffRestarts does not hurry to load again what could not be loaded', () => {
  const policy = new BackoffRestarts(new SeededRandom(1));
  const decision = policy.next({ cause: 'load-failed', readyMs: 0 }, 0);
  expect(decision.state).toBe('faulted');
  expect(decision.delayMs).toBeGreaterThanOrEqual(7500);
});

test('BackoffRestarts starts afresh after a runner that worked for long', () => {
  const policy = new BackoffRestarts(new SeededRandom(1));
  for (let index = 0; index < 5; index += 1) policy.next({ cause: 'crashed', readyMs: 0 }, index);
  expect(policy.next({ cause: 'crashed', readyMs: 600_000 }, 10).state).toBe('backoff');
});
