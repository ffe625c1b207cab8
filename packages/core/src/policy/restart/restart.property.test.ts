import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../base/random.ts';
import { DEFAULT_RESTART_OPTIONS } from './options.ts';
import { RestartBackoff, type RunnerExit } from './restart.ts';

const { firstProbeMs, maxDelayMs, maxProbeMs, stableMs, loopExits, loopWindowMs } = DEFAULT_RESTART_OPTIONS;

const exits = fc.array(
  fc.record({
    cause: fc.constantFrom<RunnerExit['cause']>('crashed', 'hung', 'killed', 'load-failed'),
    readyMs: fc.integer({ min: 0, max: 2 * stableMs }),
    gapMs: fc.integer({ min: 0, max: 2 * loopWindowMs }),
  }),
  { maxLength: 60 },
);

describe('RestartBackoff, whatever happens', () => {
  it('keeps its delays within their limits and leaves the faulted state only by long work', () => {
    fc.assert(
      fc.property(exits, fc.integer(), (list, seed) => {
        const restarts = new RestartBackoff(new SeededRandom(seed));
        let now = 0;
        let wasFaulted = false;
        for (const { gapMs, ...exit } of list) {
          now += gapMs;
          const { state, delayMs } = restarts.next(exit, now);
          const [low, high] = state === 'faulted' ? [firstProbeMs / 2, maxProbeMs] : [0, maxDelayMs];
          expect(delayMs).toBeGreaterThanOrEqual(low);
          expect(delayMs).toBeLessThanOrEqual(high);
          if (exit.cause === 'load-failed') expect(state).toBe('faulted');
          if (wasFaulted && exit.readyMs < stableMs) expect(state).toBe('faulted');
          if (exit.readyMs >= stableMs && exit.cause !== 'load-failed') expect(state).toBe('backoff');
          wasFaulted = state === 'faulted';
        }
      }),
      { numRuns: 500 },
    );
  });

  it('is faulted by the last of so many crashes within the window, and by none before', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: loopWindowMs }), { maxLength: 40 }), (gaps) => {
        const restarts = new RestartBackoff(new SeededRandom(1));
        const crashes: number[] = [];
        let now = 0;
        for (const gapMs of gaps) {
          now += gapMs;
          crashes.push(now);
          const recent = crashes.filter((at) => now - at < loopWindowMs).length;
          const { state } = restarts.next({ cause: 'crashed', readyMs: 1 }, now);
          expect(state).toBe(recent >= loopExits ? 'faulted' : 'backoff');
          if (state === 'faulted') return;
        }
      }),
      { numRuns: 500 },
    );
  });
});
