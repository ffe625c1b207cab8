import { describe, expect, it } from 'vitest';
import { type Box, intersectionOverUnion, suppressOverlaps } from './boxes.ts';

function aBox(left: number, score: number, size = 10): Box {
  return { left, top: 0, right: left + size, bottom: size, score, landmarks: [] };
}

describe('suppression of overlaps', () => {
  it('keeps the surest of boxes that overlap and the boxes that do not', () => {
    const kept = suppressOverlaps([aBox(0, 0.6), aBox(1, 0.9), aBox(50, 0.7)], { iou: 0.3, limit: 10 });
    expect(kept.map((box) => box.score)).toEqual([0.9, 0.7]);
  });

  it('compares with kept boxes only, so that a chain does not die with its middle', () => {
    const kept = suppressOverlaps([aBox(0, 0.9), aBox(5, 0.8), aBox(10, 0.7)], { iou: 0.3, limit: 10 });
    expect(kept.map((box) => box.score)).toEqual([0.9, 0.7]);
  });

  it('gives no more boxes than the limit', () => {
    const apart = Array.from({ length: 20 }, (_, index) => aBox(index * 100, index / 20));
    expect(suppressOverlaps(apart, { iou: 0.3, limit: 3 }).map((box) => box.score)).toEqual([
      0.95, 0.9, 0.85,
    ]);
  });

  it('compares no more than 2,000 candidates, whatever the picture', () => {
    const many = Array.from({ length: 100_000 }, (_, index) => aBox(index * 20, (index % 997) / 997));
    expect(suppressOverlaps(many, { iou: 0.3, limit: 5_000 }).length).toBe(2_000);
  });
});

describe('intersection over union', () => {
  it('is 1 for equal boxes, 0 for boxes that only touch, a third for a half overlap', () => {
    expect(intersectionOverUnion(aBox(0, 1), aBox(0, 1))).toBe(1);
    expect(intersectionOverUnion(aBox(0, 1), aBox(10, 1))).toBe(0);
    expect(intersectionOverUnion(aBox(0, 1), aBox(5, 1))).toBeCloseTo(1 / 3);
  });
});
