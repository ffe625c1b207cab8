import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../base/random.ts';
import { NEVER } from '../../base/time.ts';
import { LadderController, type LadderSituation } from './ladder-controller.ts';

/** The ladder of the image example: 58, 125 and 238 rows a second. */
const ROW_MS = [17.2, 8, 4.2];
const CALM: LadderSituation = {
  rowsPerSecond: 0,
  pinnedMsPerSecond: 0,
  slots: 1,
  rowMs: ROW_MS,
  pressureRatio: 0,
  available: [true, true, true],
};

/** One runner, callers that wait 500 ms, a queue that refuses what would be late; each step is 100 ms. */
class Plant {
  readonly ladder = new LadderController(3);
  readonly random = new SeededRandom(5);
  now = 0;
  backlogMs = 0;
  asked = 0;
  answered = 0;
  #rate = 0;

  run(seconds: number, rowsPerSecond: number, slowness = 1): void {
    for (const until = this.now + seconds * 1000; this.now < until; this.now += 100) {
      const rows = Math.max(0, Math.round((rowsPerSecond / 10) * (0.7 + 0.6 * this.random.next())));
      this.#rate += 0.3 * (rows * 10 - this.#rate);
      for (let row = 0; row < rows; row += 1) {
        this.asked += 1;
        const ms = (ROW_MS[this.ladder.pick()] ?? 0) * slowness;
        if (this.backlogMs + ms > 500) continue;
        this.backlogMs += ms;
        this.answered += 1;
      }
      const pressureRatio = this.backlogMs / 500;
      this.backlogMs = Math.max(0, this.backlogMs - 100);
      this.ladder.step({ ...CALM, rowsPerSecond: this.#rate, pressureRatio }, this.now);
    }
  }

  answeredRatio(): number {
    const ratio = this.answered / this.asked;
    this.asked = 0;
    this.answered = 0;
    return ratio;
  }
}

describe('LadderController', () => {
  it('answers at least 99 % in time at three times the best rung, without flapping', () => {
    const plant = new Plant();
    plant.run(5, 30);
    expect(plant.ladder.position).toBe(0);
    plant.answeredRatio();
    plant.run(60, 174);
    expect(plant.answeredRatio()).toBeGreaterThan(0.99);
    const { history, position } = plant.ladder.view();
    expect(position).toBeGreaterThan(1.2);
    expect(history.length).toBeLessThanOrEqual(6);
  });

  it('is back on the best rung within 30 s of calm', () => {
    const plant = new Plant();
    plant.run(20, 220);
    expect(plant.ladder.position).toBeGreaterThan(1.5);
    plant.run(30, 29);
    expect(plant.ladder.position).toBe(0);
  });

  it('waits through a gap in the traffic', () => {
    const plant = new Plant();
    plant.run(20, 220);
    const before = plant.ladder.position;
    plant.run(3, 10);
    expect(plant.ladder.position).toBeGreaterThanOrEqual(before);
  });

  it('goes down by waits alone where runs are slower than anybody knows', () => {
    const plant = new Plant();
    plant.run(20, 50, 2.5);
    expect(plant.ladder.position).toBeGreaterThan(0.5);
    plant.answeredRatio();
    plant.run(20, 50, 2.5);
    expect(plant.answeredRatio()).toBeGreaterThan(0.97);
  });

  it('gives the share of a rung that is gone to the one below, then above', () => {
    const ladder = new LadderController(3);
    ladder.step({ ...CALM, available: [false, true, true] }, 0);
    expect(ladder.pick()).toBe(1);
    ladder.step({ ...CALM, available: [true, true, false], rowsPerSecond: 10_000 }, 100);
    expect(ladder.pick()).toBe(1);
    ladder.step({ ...CALM, available: [false, false, false] }, 200);
    expect(ladder.pick()).toBe(2);
  });

  it('stays where it is pinned until the pin ends, then finds its way', () => {
    const ladder = new LadderController(3);
    ladder.pin(2, 1000, 0);
    for (let now = 0; now < 1000; now += 100) {
      ladder.step(CALM, now);
      expect(ladder.pick()).toBe(2);
    }
    ladder.step(CALM, 1000);
    expect(ladder.isPinned).toBe(false);
    for (let now = 1000; now < 30_000; now += 100) ladder.step(CALM, now);
    expect(ladder.position).toBe(0);
    expect(ladder.view().history.map(({ because }) => because)).toEqual(['pinned', 'calm', 'calm']);
    ladder.pin(1, NEVER, 30_000);
    ladder.release(30_001);
    expect(ladder.isPinned).toBe(false);
  });

  it('leaves room for what insists on the best rung', () => {
    const ladder = new LadderController(3);
    ladder.step({ ...CALM, rowsPerSecond: 40 }, 0);
    expect(ladder.position).toBe(0);
    ladder.step({ ...CALM, rowsPerSecond: 40, pinnedMsPerSecond: 600 }, 100);
    expect(ladder.position).toBeGreaterThan(0.9);
  });

  it('counts the time in which lower rungs had a share', () => {
    const ladder = new LadderController(3);
    ladder.step({ ...CALM, rowsPerSecond: 90 }, 0);
    ladder.step({ ...CALM, rowsPerSecond: 90 }, 500);
    expect(ladder.view().degradedMs).toEqual([0, 500, 0]);
  });

  it('keeps shares exact and positions inside, whatever comes', () => {
    const situations = fc.array(
      fc.record({
        rowsPerSecond: fc.double({ min: 0, max: 2000, noNaN: true }),
        pinnedMsPerSecond: fc.double({ min: 0, max: 3000, noNaN: true }),
        slots: fc.integer({ min: 0, max: 4 }),
        rowMs: fc.constantFrom<(number | undefined)[]>(
          ROW_MS,
          [17.2, undefined, 4.2],
          [undefined, 8, 4.2],
          [4, 8, 2],
        ),
        pressureRatio: fc.double({ min: 0, max: 5, noNaN: true }),
        available: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
      }),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(situations, (list) => {
        const ladder = new LadderController(3);
        for (const [index, situation] of list.entries()) {
          ladder.step(situation, index * 200);
          const { position, shares, history } = ladder.view();
          expect(position).toBeGreaterThanOrEqual(0);
          expect(position).toBeLessThanOrEqual(2);
          expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1);
          const picked = [0, 0, 0];
          for (let count = 0; count < 100; count += 1) {
            const rung = ladder.pick();
            picked[rung] = (picked[rung] ?? 0) + 1;
          }
          for (const [rung, share] of shares.entries()) {
            expect(Math.abs((picked[rung] ?? 0) - share * 100)).toBeLessThanOrEqual(1.001);
          }
          expect(history.length).toBeLessThanOrEqual(128);
        }
      }),
      { numRuns: 100 },
    );
  });
});
