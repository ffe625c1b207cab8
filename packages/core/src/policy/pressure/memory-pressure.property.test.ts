import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryPressure, type PressureLevel } from './memory-pressure.ts';
import { DEFAULT_PRESSURE_OPTIONS } from './options.ts';

const { criticalRatio, criticalStallRatio, tightRatio, tightStallRatio, dwellMs } = DEFAULT_PRESSURE_OPTIONS;
const RANK: Readonly<Record<PressureLevel, number>> = { calm: 0, tight: 1, critical: 2 };

const readings = fc.array(
  fc.record({
    used: fc.double({ min: 0, max: 1.2, noNaN: true }),
    stall: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined }),
    gapMs: fc.integer({ min: 1, max: 2 * dwellMs }),
  }),
  { maxLength: 80 },
);

describe('MemoryPressure, whatever is read', () => {
  it('is never below what the reading calls for, and falls by one level a dwell at most', () => {
    fc.assert(
      fc.property(readings, (list) => {
        const pressure = new MemoryPressure();
        let now = 0;
        let before: PressureLevel = 'calm';
        let changedAt = 0;
        for (const { used, stall = 0, gapMs } of list) {
          now += gapMs;
          const { level, changedFrom } = pressure.step(
            { usedBytes: used, limitBytes: 1, stallRatio: stall },
            now,
          );
          const isCritical = used >= criticalRatio || stall >= criticalStallRatio;
          const isTight = used >= tightRatio || stall >= tightStallRatio;
          expect(RANK[level]).toBeGreaterThanOrEqual(isCritical ? 2 : isTight ? 1 : 0);
          expect(changedFrom).toBe(level === before ? undefined : before);
          if (RANK[level] < RANK[before]) {
            expect(RANK[before] - RANK[level]).toBe(1);
            expect(now - changedAt).toBeGreaterThanOrEqual(dwellMs);
          }
          if (level !== before) changedAt = now;
          before = level;
        }
      }),
      { numRuns: 500 },
    );
  });
});
