import { describe, expect, it } from 'vitest';
import { DEFAULT_QUEUE_DELAY_LIMITER_OPTIONS } from './options.ts';
import { QueueDelayLimiter } from './queue-delay-limiter.ts';
import {
  FixedLimiter,
  FULL_BATCH_MS,
  GradientLimiter,
  type PlantLimiter,
  type PlantLoad,
  runPlant,
} from './testing/batching-plant.ts';

const { floorBatches, intervalMs, targetMs } = DEFAULT_QUEUE_DELAY_LIMITER_OPTIONS;
const LOADS = [0.9, 2, 5];
const ROWS = 32;

/** Our limiter in the plant, which counts rows. */
class OurLimiter implements PlantLimiter {
  readonly limiter = new QueueDelayLimiter();
  readonly limits: number[] = [];

  constructor() {
    this.limiter.shape({ runners: 1, batchMs: FULL_BATCH_MS });
  }

  admits(inFlightRows: number): boolean {
    return this.limiter.admits({ insideBatches: (inFlightRows - 1) / ROWS, askedBatches: 1 / ROWS });
  }

  started(waitsMs: readonly number[], now: number): void {
    for (const delayMs of waitsMs) this.limiter.observed(delayMs, now);
    this.limits.push(this.limiter.limit);
  }

  ended(): void {}
}

/** Answered rows in % of what could be: of the capacity, or of what was offered when that is less. */
function achieved(limiter: PlantLimiter, plant: PlantLoad): number {
  const { offered, answered } = runPlant(limiter, plant);
  return (answered / Math.min(100, offered)) * 100;
}

/** Answered rows in whole % of capacity at each load; arrivals are random, so the first is of 90 offered. */
function table(create: () => PlantLimiter, start: PlantLoad['start']): number[] {
  return LOADS.map((load) => Math.round(achieved(create(), { load, start }) * Math.min(1, load)));
}

/** An interval after another in which as much is asked for, and a work that waited so long begins to run. */
function intervals(
  limiter: QueueDelayLimiter,
  count: number,
  { delayMs, asked }: { delayMs: number; asked: number },
): void {
  for (let index = 0; index <= count; index += 1) {
    limiter.observed(delayMs, index * intervalMs);
    limiter.admits({ insideBatches: asked - 1, askedBatches: 1 });
  }
}

describe('Throughput of a batching runner at 0.9, 2 and 5 times its capacity', () => {
  it('is all that there is with a limit on queue delay', () => {
    expect(table(() => new OurLimiter(), 'quiet')).toEqual([90, 100, 100]);
    expect(table(() => new OurLimiter(), 'at-once')).toEqual([90, 100, 100]);
  });

  it('is a fraction with a latency gradient that took its measure in a quiet hour', () => {
    for (const percent of table(() => new GradientLimiter(), 'quiet')) expect(percent).toBeLessThan(25);
  });

  it('is less under overload even with a gradient that took its measure there', () => {
    const [, over = 100, far = 100] = table(() => new GradientLimiter(), 'at-once');
    expect(over).toBeLessThan(95);
    expect(far).toBeLessThan(85);
  });

  it('lacks the bursts that two batches and no more shed', () => {
    const [under = 100, over, far] = table(() => new FixedLimiter(floorBatches * ROWS), 'quiet');
    expect(under).toBeLessThan(90);
    expect([over, far]).toEqual([100, 100]);
  });

  it('does not depend on the seed', () => {
    for (let seed = 2; seed < 8; seed += 1) {
      for (const load of LOADS) {
        expect(achieved(new OurLimiter(), { load, start: 'quiet', seed })).toBeGreaterThan(99.5);
      }
    }
  });

  it('is had with a bounded queue: the limit settles, and does not run away', () => {
    for (const load of [1, 2, 5]) {
      const ours = new OurLimiter();
      runPlant(ours, { load, start: 'quiet' });
      const settled = ours.limits.slice(ours.limits.length >> 1);
      expect(Math.max(...settled)).toBeLessThan(8);
      expect(Math.min(...settled)).toBeGreaterThanOrEqual(floorBatches);
    }
  });
});

describe('QueueDelayLimiter', () => {
  it('starts at its floor and admits as much as its limit', () => {
    const limiter = new QueueDelayLimiter();
    expect(limiter.limit).toBe(floorBatches);
    expect(limiter.admits({ insideBatches: floorBatches - 0.5, askedBatches: 0.5 })).toBe(true);
    expect(limiter.admits({ insideBatches: floorBatches - 0.5, askedBatches: 0.75 })).toBe(false);
  });

  it('admits a work that is larger than the limit when nothing else is inside', () => {
    const limiter = new QueueDelayLimiter();
    expect(limiter.admits({ insideBatches: 0, askedBatches: 10 })).toBe(true);
    expect(limiter.admits({ insideBatches: 0.5, askedBatches: 10 })).toBe(false);
  });

  it('grows by one batch in each interval in which it is used and nobody waits too long', () => {
    const limiter = new QueueDelayLimiter();
    intervals(limiter, 3, { delayMs: targetMs, asked: 60 });
    expect(limiter.limit).toBe(floorBatches + 3);
  });

  it('does not grow while it is not used', () => {
    const limiter = new QueueDelayLimiter();
    intervals(limiter, 50, { delayMs: 0, asked: floorBatches * 0.8 });
    expect(limiter.limit).toBe(floorBatches);
  });

  it('shrinks when everybody waits too long, down to its floor', () => {
    const limiter = new QueueDelayLimiter();
    intervals(limiter, 8, { delayMs: 0, asked: 60 });
    expect(limiter.limit).toBe(10);
    const before = limiter.limit;
    limiter.observed(targetMs + 1, 100_000);
    for (let index = 1; index <= 2; index += 1) limiter.observed(targetMs + 1, 100_000 + index * intervalMs);
    expect(limiter.limit).toBeLessThan(before);
    for (let index = 3; index < 40; index += 1) limiter.observed(targetMs + 1, 100_000 + index * intervalMs);
    expect(limiter.limit).toBe(floorBatches);
  });

  it('takes no burst for a standing queue: one work that hardly waited is enough', () => {
    const limiter = new QueueDelayLimiter();
    intervals(limiter, 3, { delayMs: 0, asked: 60 });
    limiter.observed(0, 4 * intervalMs);
    const before = limiter.limit;
    for (let at = 4 * intervalMs + 10; at <= 20 * intervalMs; at += 10) {
      limiter.observed(at % intervalMs === 50 ? 1 : 500, at);
    }
    expect(limiter.limit).toBe(before);
    for (let at = 21 * intervalMs; at <= 24 * intervalMs; at += 10) limiter.observed(500, at);
    expect(limiter.limit).toBeLessThan(before);
  });

  it('never passes its ceiling', () => {
    const limiter = new QueueDelayLimiter({ ceilingBatches: 5 });
    intervals(limiter, 50, { delayMs: 0, asked: 1000 });
    expect(limiter.limit).toBe(5);
  });

  it('keeps its share of each runner when runners come and go', () => {
    const limiter = new QueueDelayLimiter();
    intervals(limiter, 2, { delayMs: 0, asked: 60 });
    limiter.shape({ runners: 3, batchMs: 10 });
    expect(limiter.limit).toBe(12);
    limiter.shape({ runners: 1, batchMs: 10 });
    expect(limiter.limit).toBe(4);
    limiter.shape({ runners: 0, batchMs: 10 });
    expect(limiter.limit).toBe(4);
  });

  it('gives slow runs a longer target and interval', () => {
    const limiter = new QueueDelayLimiter();
    limiter.shape({ runners: 1, batchMs: 500 });
    expect(limiter.targetMs).toBe(750);
    intervals(limiter, 9, { delayMs: 0, asked: 60 });
    expect(limiter.limit).toBe(floorBatches);
    limiter.observed(0, 10 * intervalMs);
    expect(limiter.limit).toBe(floorBatches + 1);
  });
});
