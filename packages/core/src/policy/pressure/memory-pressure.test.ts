import { describe, expect, it } from 'vitest';
import { MemoryPressure, type MemorySituation, type PressureLevel } from './memory-pressure.ts';
import { DEFAULT_PRESSURE_OPTIONS } from './options.ts';

const { dwellMs } = DEFAULT_PRESSURE_OPTIONS;

function used(percent: number, stallRatio?: number): MemorySituation {
  return { usedBytes: percent * 10, limitBytes: 1000, stallRatio };
}

/** Levels after each of the situations, a second apart. */
function levels(...situations: MemorySituation[]): PressureLevel[] {
  const pressure = new MemoryPressure();
  return situations.map((situation, second) => pressure.step(situation, second * 1000).level);
}

describe('MemoryPressure', () => {
  it('rises at once, also by two levels', () => {
    expect(levels(used(84), used(85), used(93), used(94))).toEqual(['calm', 'tight', 'tight', 'critical']);
    expect(levels(used(10), used(99))).toEqual(['calm', 'critical']);
  });

  it('tells when it changes, and from what', () => {
    const pressure = new MemoryPressure();
    expect(pressure.step(used(50), 0)).toEqual({ level: 'calm', changedFrom: undefined });
    expect(pressure.step(used(95), 1)).toEqual({ level: 'critical', changedFrom: 'calm' });
    expect(pressure.step(used(95), 2)).toEqual({ level: 'critical', changedFrom: undefined });
  });

  it('refuses more lanes at each level, and never the critical one', () => {
    const pressure = new MemoryPressure();
    const refused = (): string[] =>
      (['critical', 'default', 'sheddable'] as const).filter((lane) => pressure.refuses(lane));
    expect(refused()).toEqual([]);
    pressure.step(used(90), 0);
    expect(refused()).toEqual(['sheddable']);
    pressure.step(used(95), 1);
    expect(refused()).toEqual(['default', 'sheddable']);
  });

  it('falls one level at a time, each after a dwell', () => {
    const pressure = new MemoryPressure();
    pressure.step(used(95), 0);
    expect(pressure.step(used(10), 100).level).toBe('critical');
    expect(pressure.step(used(10), 99 + dwellMs).level).toBe('critical');
    expect(pressure.step(used(10), 100 + dwellMs)).toEqual({ level: 'tight', changedFrom: 'critical' });
    expect(pressure.step(used(10), 200 + dwellMs).level).toBe('tight');
    expect(pressure.step(used(10), 200 + 2 * dwellMs)).toEqual({ level: 'calm', changedFrom: 'tight' });
  });

  it('does not flap around the ratios at which it rises', () => {
    const around = Array.from({ length: 60 }, (_, second) => used(second % 2 === 0 ? 86 : 79));
    expect(new Set(levels(...around))).toEqual(new Set(['tight']));
    const critical = Array.from({ length: 60 }, (_, second) => used(second % 2 === 0 ? 95 : 89));
    expect(new Set(levels(...critical))).toEqual(new Set(['critical']));
  });

  it('starts its dwell anew when memory fills again before the end', () => {
    const pressure = new MemoryPressure();
    pressure.step(used(90), 0);
    pressure.step(used(50), 1000);
    pressure.step(used(80), 1000 + dwellMs - 1);
    expect(pressure.step(used(50), 1000 + dwellMs).level).toBe('tight');
    expect(pressure.step(used(50), 1000 + 2 * dwellMs).level).toBe('calm');
  });

  it('rises by stalls, and stays until they have halved', () => {
    expect(levels(used(20, 0.05), used(20, 0.1), used(20, 0.4))).toEqual(['calm', 'tight', 'critical']);
    const halved = Array.from({ length: 20 }, () => used(20, 0.06));
    expect(levels(used(20, 0.2), ...halved).at(-1)).toBe('tight');
    expect(levels(used(20, 0.2), ...halved.map(() => used(20, 0.04))).at(-1)).toBe('calm');
  });

  it('hears only stalls where no limit is known', () => {
    const unlimited = { usedBytes: 1e12, limitBytes: undefined };
    expect(levels(unlimited, { ...unlimited, limitBytes: 0 })).toEqual(['calm', 'calm']);
    expect(levels({ ...unlimited, stallRatio: 0.5 })).toEqual(['critical']);
  });

  it('refuses options whose levels cross', () => {
    expect(() => new MemoryPressure({ calmRatio: 0.9 })).toThrow('below where it is entered');
    expect(() => new MemoryPressure({ tightRatio: 0.99 })).toThrow('in order');
  });
});
