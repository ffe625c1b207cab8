import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { randomInteger, SeededRandom } from '../base/random.ts';
import { CostModel, type ObservedBatch } from './cost-model.ts';

function aModel(line = { fixedMs: 2, perRowMs: 1 }): CostModel {
  const model = new CostModel();
  model.seed(line);
  return model;
}

function ofClass(costClass: number, units: number): ObservedBatch {
  return { units, costClass };
}

describe('CostModel', () => {
  it('starts with the profile', () => {
    const model = aModel();
    expect(model.predictedMs(1)).toBeCloseTo(3);
    expect(model.predictedMs(8)).toBeCloseTo(10);
  });

  it('follows the speed of the machine, whatever the sizes of batches, and keeps the ratio of its terms', () => {
    const model = aModel();
    const random = new SeededRandom(1);
    for (let batch = 0; batch < 600; batch += 1) {
      const rows = randomInteger(random, { low: 1, high: 8 });
      model.observed(ofClass(0, rows), (4 + 2 * rows) * (0.9 + random.next() / 5));
    }
    expect(model.predictedMs(8) / 20).toBeGreaterThan(0.97);
    expect(model.predictedMs(8) / 20).toBeLessThan(1.03);
    expect(model.fixedMs / model.perRowMs).toBeCloseTo(2);
  });

  it('is moved little by a single stall', () => {
    const model = aModel();
    model.observed(ofClass(0, 8), 10_000);
    expect(model.predictedMs(8)).toBeLessThan(11);
  });

  it('follows a lasting change, up and down', () => {
    const model = aModel();
    for (const factor of [6, 0.2]) {
      for (let batch = 0; batch < 600; batch += 1) {
        const rows = 1 + (batch % 8);
        model.observed(ofClass(0, rows), factor * (2 + rows));
      }
      expect(model.predictedMs(4) / (factor * 6)).toBeGreaterThan(0.9);
      expect(model.predictedMs(4) / (factor * 6)).toBeLessThan(1.1);
    }
  });

  it('widens its margin when runs are uneven, and narrows it again', () => {
    const model = aModel();
    for (let batch = 0; batch < 300; batch += 1) model.observed(ofClass(0, 8), batch % 2 === 0 ? 5 : 15);
    const uneven = model.deviationRatio;
    for (let batch = 0; batch < 300; batch += 1) model.observed(ofClass(0, 8), 10);
    expect(uneven).toBeGreaterThan(0.3);
    expect(model.deviationRatio).toBeLessThan(0.1);
  });

  it('forgets nothing when a runner comes back with the same profile, all with another one', () => {
    const model = aModel();
    for (let batch = 0; batch < 300; batch += 1) model.observed(ofClass(0, 8), 20);
    model.seed({ fixedMs: 2, perRowMs: 1 });
    expect(model.predictedMs(8)).toBeGreaterThan(19);
    model.seed({ fixedMs: 3, perRowMs: 1 });
    expect(model.predictedMs(8)).toBe(11);
  });

  it('never predicts a negative or an impossible time', () => {
    const batches = fc.array(
      fc.record({
        rows: fc.integer({ min: 0, max: 64 }),
        tookMs: fc.oneof(fc.double({ min: 0, max: 1e6, noNaN: true }), fc.constantFrom(Number.NaN, -1)),
      }),
      { maxLength: 100 },
    );
    fc.assert(
      fc.property(batches, (list) => {
        const model = aModel();
        for (const { rows, tookMs } of list) model.observed(ofClass(0, rows), tookMs);
        for (const rows of [0, 1, 8, 64]) {
          expect(model.predictedMs(rows)).toBeGreaterThanOrEqual(0);
          expect(Number.isFinite(model.predictedMs(rows))).toBe(true);
        }
        expect(model.fixedMs).toBeGreaterThanOrEqual(0);
        expect(model.perRowMs).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  it('learns what rows of another class cost, within few batches, beside the first', () => {
    const model = aModel({ fixedMs: 0, perRowMs: 10 });
    for (let batch = 0; batch < 400; batch += 1) {
      const costClass = batch % 2;
      const units = model.unitsPerRow(costClass);
      model.observed(ofClass(costClass, units), costClass === 0 ? 10 : 80);
    }
    expect(model.predictedMs(model.unitsPerRow(0))).toBeGreaterThan(8.5);
    expect(model.predictedMs(model.unitsPerRow(0))).toBeLessThan(11.5);
    expect(model.predictedMs(model.unitsPerRow(1))).toBeGreaterThan(70);
    expect(model.predictedMs(model.unitsPerRow(1))).toBeLessThan(90);
  });

  it('takes a class that it has not seen for the nearest that it has', () => {
    const model = aModel({ fixedMs: 0, perRowMs: 1 });
    for (let batch = 0; batch < 200; batch += 1) {
      const costClass = batch % 2 === 0 ? 10 : 14;
      model.observed(ofClass(costClass, model.unitsPerRow(costClass)), costClass === 10 ? 1 : 9);
    }
    expect(model.unitsPerRow(15)).toBe(model.unitsPerRow(14));
    expect(model.unitsPerRow(3)).toBe(model.unitsPerRow(10));
  });

  it('has a bound on the classes that it tells apart', () => {
    const model = aModel();
    for (let costClass = 0; costClass < 1000; costClass += 1) model.observed(ofClass(costClass, 1), 3);
    expect(model.classes).toBe(64);
  });
});
