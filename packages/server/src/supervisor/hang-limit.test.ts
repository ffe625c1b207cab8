import { NEVER } from '@gimbal/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hangLimit } from './hang-limit.ts';
import { DEFAULT_RUNNER_LIMITS } from './runner-limits.ts';

const { hangFloorMs, hangFactor, expiredGraceMs, expiredFactor } = DEFAULT_RUNNER_LIMITS;

function limitOf(predictedMs: number, latestDeadline: number | undefined, now = 0) {
  return hangLimit({ predictedMs, latestDeadline }, DEFAULT_RUNNER_LIMITS, now);
}

describe('A batch is hung', () => {
  it('after ten times its prediction', () => {
    expect(limitOf(500, undefined)).toEqual({ at: 500 * hangFactor, because: 'slow' });
  });

  it('never before the floor', () => {
    expect(limitOf(0.03, undefined, 100)).toEqual({ at: 100 + hangFloorMs, because: 'slow' });
  });

  it('when all its works have expired and the grace is over', () => {
    expect(limitOf(500, 2000)).toEqual({ at: 2000 + expiredGraceMs, because: 'expired' });
  });

  it('not before twice its prediction, though its works had hardly any time', () => {
    expect(limitOf(3000, 1)).toEqual({ at: 3000 * expiredFactor, because: 'expired' });
  });

  it('after ten times its prediction when a work has no end', () => {
    expect(limitOf(500, NEVER)).toEqual({ at: 500 * hangFactor, because: 'slow' });
  });
});

it('Deadlines only ever shorten the limit of a hang, and never below the floor', () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0, max: 1e6, noNaN: true }),
      fc.double({ min: -1e6, max: 1e7, noNaN: true }),
      fc.double({ min: 0, max: 1e9, noNaN: true }),
      (predictedMs, deadline, now) => {
        const { at } = limitOf(predictedMs, now + deadline, now);
        expect(at).toBeLessThanOrEqual(limitOf(predictedMs, undefined, now).at);
        expect(at).toBeGreaterThanOrEqual(now + hangFloorMs);
      },
    ),
  );
});
