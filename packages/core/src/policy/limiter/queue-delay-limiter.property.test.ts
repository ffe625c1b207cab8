import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_QUEUE_DELAY_LIMITER_OPTIONS } from './options.ts';
import { QueueDelayLimiter } from './queue-delay-limiter.ts';

const { floorBatches, ceilingBatches, intervalMs } = DEFAULT_QUEUE_DELAY_LIMITER_OPTIONS;

const steps = fc.array(
  fc.record({
    delayMs: fc.double({ min: 0, max: 10_000, noNaN: true }),
    insideBatches: fc.double({ min: 0, max: 500, noNaN: true }),
    gapMs: fc.integer({ min: 0, max: 2 * intervalMs }),
    runners: fc.option(fc.integer({ min: 0, max: 8 }), { nil: undefined, freq: 5 }),
  }),
  { maxLength: 100 },
);

describe('QueueDelayLimiter, whatever is observed', () => {
  it('keeps its limit between floor and ceiling of the runners that there are', () => {
    fc.assert(
      fc.property(steps, (list) => {
        const limiter = new QueueDelayLimiter();
        let now = 0;
        let present = 1;
        for (const { gapMs, runners, delayMs, insideBatches } of list) {
          now += gapMs;
          if (runners !== undefined) {
            limiter.shape({ runners, batchMs: 10 });
            present = Math.max(1, runners);
          }
          limiter.admits({ insideBatches, askedBatches: 1 });
          limiter.observed(delayMs, now);
          expect(limiter.limit).toBeGreaterThanOrEqual(floorBatches * present - 1e-9);
          expect(limiter.limit).toBeLessThanOrEqual(ceilingBatches * present + 1e-9);
        }
      }),
      { numRuns: 500 },
    );
  });
});
