import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../base/random.ts';
import { DEFAULT_RESTART_OPTIONS } from './options.ts';
import { RestartBackoff, type RunnerExit } from './restart.ts';

const CRASH: RunnerExit = { cause: 'crashed', readyMs: 5000 };
/** The longest delay that a decision may have. */
const ALWAYS_LONGEST = { next: () => 1 };
const ALWAYS_SHORTEST = { next: () => 0 };

describe('RestartBackoff', () => {
  it('waits longer after each crash, then probes a loop slowly', () => {
    const restarts = new RestartBackoff(ALWAYS_LONGEST);
    const decisions = Array.from({ length: 7 }, (_, index) => restarts.next(CRASH, index * 1000));
    expect(decisions).toEqual([
      { state: 'backoff', delayMs: 100 },
      { state: 'backoff', delayMs: 400 },
      { state: 'backoff', delayMs: 1600 },
      { state: 'backoff', delayMs: 6400 },
      { state: 'faulted', delayMs: 15_000 },
      { state: 'faulted', delayMs: 30_000 },
      { state: 'faulted', delayMs: 60_000 },
    ]);
  });

  it('may restart at once, but never probes a loop before half of its delay', () => {
    const restarts = new RestartBackoff(ALWAYS_SHORTEST);
    const delays = Array.from({ length: 6 }, (_, index) => restarts.next(CRASH, index).delayMs);
    expect(delays).toEqual([0, 0, 0, 0, 7500, 15_000]);
  });

  it('never waits longer than its limits', () => {
    const restarts = new RestartBackoff(ALWAYS_LONGEST, { maxDelayMs: 500, maxProbeMs: 20_000 });
    const delays = Array.from({ length: 7 }, (_, index) => restarts.next(CRASH, index).delayMs);
    expect(delays).toEqual([100, 400, 500, 500, 15_000, 20_000, 20_000]);
  });

  it('sees no loop in crashes that are further apart than the window', () => {
    const restarts = new RestartBackoff(ALWAYS_LONGEST);
    for (let index = 0; index < 50; index += 1) {
      const now = index * DEFAULT_RESTART_OPTIONS.loopWindowMs;
      expect(restarts.next(CRASH, now)).toEqual({ state: 'backoff', delayMs: 100 });
    }
  });

  it('starts afresh after a runner that worked for long', () => {
    const restarts = new RestartBackoff(ALWAYS_LONGEST);
    for (let index = 0; index < 9; index += 1) restarts.next(CRASH, index);
    const recovered: RunnerExit = { cause: 'crashed', readyMs: DEFAULT_RESTART_OPTIONS.stableMs };
    expect(restarts.next(recovered, 100_000)).toEqual({ state: 'backoff', delayMs: 100 });
  });

  it('stays faulted when a probe becomes ready and crashes early', () => {
    const restarts = new RestartBackoff(ALWAYS_LONGEST);
    for (let index = 0; index < 5; index += 1) restarts.next(CRASH, index);
    expect(restarts.next(CRASH, 1_000_000)).toEqual({ state: 'faulted', delayMs: 30_000 });
  });

  it('sees no loop in kills of a runner at work, however many there are', () => {
    const restarts = new RestartBackoff(ALWAYS_LONGEST);
    for (let index = 0; index < 100; index += 1) {
      const decision = restarts.next({ cause: 'killed', readyMs: 50 }, index * 500);
      expect(decision).toEqual({ state: 'backoff', delayMs: 100 });
    }
    expect(restarts.next(CRASH, 50_000), 'nor do they count towards one').toEqual({
      state: 'backoff',
      delayMs: 100,
    });
  });

  it('sees a loop in kills of a runner that never gets to work: its own load may be the cause', () => {
    const restarts = new RestartBackoff(ALWAYS_LONGEST);
    const killed: RunnerExit = { cause: 'killed', readyMs: 0 };
    const states = Array.from({ length: 5 }, (_, index) => restarts.next(killed, index * 1000).state);
    expect(states).toEqual(['backoff', 'backoff', 'backoff', 'backoff', 'faulted']);
  });

  it('does not let a kill end a loop', () => {
    const restarts = new RestartBackoff(ALWAYS_LONGEST);
    for (let index = 0; index < 5; index += 1) restarts.next(CRASH, index);
    expect(restarts.next({ cause: 'killed', readyMs: 50 }, 20_000).state).toBe('faulted');
  });

  it('is faulted at once by a model that cannot be loaded', () => {
    const restarts = new RestartBackoff(ALWAYS_LONGEST);
    const failed: RunnerExit = { cause: 'load-failed', readyMs: 0 };
    expect(restarts.next(failed, 0)).toEqual({ state: 'faulted', delayMs: 15_000 });
    expect(restarts.next(failed, 15_000)).toEqual({ state: 'faulted', delayMs: 30_000 });
  });

  it('repeats itself from a seed', () => {
    const delays = (seed: number): number[] => {
      const restarts = new RestartBackoff(new SeededRandom(seed));
      return Array.from({ length: 5 }, (_, index) => restarts.next(CRASH, index).delayMs);
    };
    expect(delays(7)).toEqual(delays(7));
    expect(delays(7)).not.toEqual(delays(8));
  });
});
