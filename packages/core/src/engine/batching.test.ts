import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NEVER } from '../base/time.ts';
import { type BatchingSituation, decideBatch } from './batching.ts';

const NOW = 1000;

/** One row waits since now, a run has a fixed cost of 4 ms, and rows come every ms. */
function aSituation(changes: Partial<BatchingSituation> = {}): BatchingSituation {
  return {
    rows: 1,
    maxRows: 8,
    preferredSizes: [],
    maxDelayMs: 5,
    fixedMs: 4,
    gapMs: 1,
    lastArrival: NOW,
    idleSince: NOW,
    latestStart: NEVER,
    ...changes,
  };
}

describe('decideBatch', () => {
  it('goes with a full batch, and leaves the rest for the next', () => {
    expect(decideBatch(aSituation({ rows: 20 }), NOW)).toEqual({ kind: 'go', rows: 8 });
  });

  it('goes at once, alone, where batching does not pay', () => {
    expect(decideBatch(aSituation({ maxRows: 1, rows: 3 }), NOW)).toEqual({ kind: 'go', rows: 1 });
  });

  it('goes at once while no arrivals have been seen', () => {
    expect(decideBatch(aSituation({ gapMs: NEVER }), NOW)).toEqual({ kind: 'go', rows: 1 });
  });

  it('lingers while a companion is expected to cost the waiting rows less than a run of its own', () => {
    expect(decideBatch(aSituation({ rows: 3 }), NOW).kind).toBe('linger');
    expect(decideBatch(aSituation({ rows: 4 }), NOW)).toEqual({ kind: 'go', rows: 4 });
  });

  it.each([
    ['the fixed cost of a run', { fixedMs: 2, gapMs: 0.1 }, 2],
    ['the configured delay', { maxDelayMs: 1.5, gapMs: 0.1 }, 1.5],
    ['what an overdue arrival has cost already', { rows: 4, gapMs: 0.1 }, 1],
    ['the latest start for a deadline', { latestStart: NOW + 0.5, gapMs: 0.1 }, 0.5],
  ] as const)('lingers no longer than %s', (_what, changes, afterMs) => {
    const situation = aSituation(changes);
    expect(decideBatch(situation, NOW)).toEqual({ kind: 'linger', until: NOW + afterMs });
    expect(decideBatch(situation, NOW + afterMs).kind).toBe('go');
  });

  it('prefers the largest preferred size that can be filled', () => {
    const preferredSizes = [2, 4];
    const sizes = [1, 2, 3, 5, 9].map((rows) => {
      const decision = decideBatch(aSituation({ rows, preferredSizes, gapMs: NEVER }), NOW);
      return decision.kind === 'go' ? decision.rows : decision.kind;
    });
    expect(sizes).toEqual([1, 2, 2, 4, 4]);
  });

  it('is a bounded and possible decision in every situation', () => {
    const situations = fc.record({
      rows: fc.integer({ min: 1, max: 100 }),
      maxRows: fc.integer({ min: 1, max: 32 }),
      preferredSizes: fc
        .uniqueArray(fc.integer({ min: 1, max: 40 }))
        .map((sizes) => sizes.sort((a, b) => a - b)),
      maxDelayMs: fc.double({ min: 0, max: 20, noNaN: true }),
      fixedMs: fc.double({ min: 0, max: 50, noNaN: true }),
      gapMs: fc.oneof(fc.double({ min: 0, max: 50, noNaN: true }), fc.constant(NEVER)),
      lastArrival: fc.double({ min: NOW - 100, max: NOW, noNaN: true }),
      idleSince: fc.double({ min: NOW - 100, max: NOW, noNaN: true }),
      latestStart: fc.double({ min: NOW - 10, max: NOW + 100, noNaN: true }),
    });
    fc.assert(
      fc.property(situations, (situation) => {
        const decision = decideBatch(situation, NOW);
        if (decision.kind === 'go') {
          expect(decision.rows).toBeGreaterThanOrEqual(1);
          expect(decision.rows).toBeLessThanOrEqual(Math.min(situation.rows, situation.maxRows));
        } else {
          expect(decision.until).toBeGreaterThan(NOW);
          expect(decision.until).toBeLessThanOrEqual(situation.latestStart);
          expect(decision.until - situation.idleSince).toBeLessThanOrEqual(situation.maxDelayMs + 1e-9);
          expect(decision.until - situation.idleSince).toBeLessThanOrEqual(situation.fixedMs + 1e-9);
        }
      }),
    );
  });
});
