import { describe, expect, it } from 'vitest';
import { activate } from './scores.ts';
import { topClasses } from './top-classes.ts';

function activated(row: readonly number[], activation: 'auto' | 'softmax' | 'sigmoid' | 'none'): number[] {
  const target = new Float64Array(row.length);
  activate(Float32Array.from(row), activation, target);
  return [...target];
}

describe('activation of scores', () => {
  it('makes logits sum to 1 by softmax, whatever their size', () => {
    for (const row of [
      [1, 2, 3],
      [1000, 1001, 999],
      [-1000, -1001],
      [3e38, -3e38],
    ]) {
      expect(activated(row, 'softmax').reduce((sum, value) => sum + value, 0)).toBeCloseTo(1, 12);
    }
    expect(activated([0, 0], 'softmax')).toEqual([0.5, 0.5]);
  });

  it('gives infinite logits their limit', () => {
    const infinity = Number.POSITIVE_INFINITY;
    expect(activated([infinity, 0, infinity], 'softmax')).toEqual([0.5, 0, 0.5]);
    expect(activated([-infinity, -infinity], 'softmax')).toEqual([0.5, 0.5]);
  });

  it('scores each class alone by sigmoid, without overflow', () => {
    expect(activated([0, 1000, -1000], 'sigmoid')).toEqual([0.5, 1, 0]);
  });

  it('leaves probabilities alone and softens logits when it decides itself', () => {
    expect(activated([0.25, 0.75], 'auto')).toEqual([0.25, 0.75]);
    expect(activated([2, 2], 'auto')).toEqual([0.5, 0.5]);
    expect(activated([-0.5, 1.5], 'auto')[1]).toBeCloseTo(0.8808, 4);
  });

  it('changes nothing when told so', () => {
    expect(activated([5, -3], 'none')).toEqual([5, -3]);
  });
});

describe('top classes', () => {
  const confidences = Float64Array.from([0.1, 0.4, 0.1, 0.3, 0.1]);

  it('are the most confident, equal ones by index', () => {
    expect(topClasses(confidences, { limit: 3, threshold: 0 })).toEqual([1, 3, 0]);
    expect(topClasses(confidences, { limit: 99, threshold: 0 })).toEqual([1, 3, 0, 2, 4]);
  });

  it('are none below the threshold and none when none are asked for', () => {
    expect(topClasses(confidences, { limit: 5, threshold: 0.3 })).toEqual([1, 3]);
    expect(topClasses(confidences, { limit: 5, threshold: 0.9 })).toEqual([]);
    expect(topClasses(confidences, { limit: 0, threshold: 0 })).toEqual([]);
  });

  it('never hold NaN', () => {
    expect(topClasses(Float64Array.from([Number.NaN, 0.2]), { limit: 2, threshold: 0 })).toEqual([1]);
  });

  it('agree with sorting, for many random rows', () => {
    let seed = 1;
    const next = () => {
      seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
      return (seed % 50) / 50;
    };
    for (let round = 0; round < 200; round += 1) {
      const row = Float64Array.from({ length: 30 }, next);
      const sorted = [...row.keys()].sort((a, b) => (row[b] ?? 0) - (row[a] ?? 0) || a - b);
      expect(topClasses(row, { limit: 7, threshold: 0 })).toEqual(sorted.slice(0, 7));
    }
  });
});
