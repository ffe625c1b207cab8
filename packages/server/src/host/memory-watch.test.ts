import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryWatch } from './memory-watch.ts';

const GIB = 1024 ** 3;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function aWatch() {
  const state = { usedBytes: GIB, requests: 0, residentBytes: 100_000_000, now: 0 };
  const levels: string[] = [];
  const growth: string[] = [];
  const watch = new MemoryWatch({
    clock: { now: () => state.now, wallTimeMs: () => state.now },
    read: () => ({
      source: 'cgroup-v2',
      usedBytes: state.usedBytes,
      limitBytes: 2 * GIB,
      stallRatio: undefined,
    }),
    host: () => state,
    onLevel: ({ level }) => levels.push(level),
    onGrowth: ({ kind }) => growth.push(kind),
  });
  watch.start();
  const pass = (ms: number, step: () => void = () => {}): void => {
    for (let passed = 0; passed < ms; passed += 250) {
      state.now += 250;
      step();
      vi.advanceTimersByTime(250);
    }
  };
  return { state, levels, growth, watch, pass };
}

describe('MemoryWatch', () => {
  it('refuses sheddable work when memory is tight, all but critical work when it is critical, and recovers', () => {
    const { state, levels, watch, pass } = aWatch();
    pass(500);
    expect(watch.refuses('sheddable')).toBe(false);
    state.usedBytes = 1.8 * GIB;
    pass(500);
    expect([watch.refuses('sheddable'), watch.refuses('default')]).toEqual([true, false]);
    state.usedBytes = 1.95 * GIB;
    pass(500);
    expect([watch.refuses('default'), watch.refuses('critical')]).toEqual([true, false]);
    state.usedBytes = GIB;
    pass(20_000);
    expect(watch.refuses('sheddable')).toBe(false);
    expect(levels[0]).toBe('tight');
    expect(levels.at(-1)).toBe('calm');
    watch.stop();
  });

  it('tells once that the memory of the host grows with its requests, and nothing of a host that is steady', () => {
    const steady = aWatch();
    steady.pass(1_200_000, () => {
      steady.state.requests += 25;
    });
    expect(steady.growth).toEqual([]);
    const leaking = aWatch();
    leaking.pass(600_000, () => {
      leaking.state.requests += 25;
      leaking.state.residentBytes += 25 * 10_000;
    });
    expect(leaking.growth).toEqual(['growing']);
    steady.watch.stop();
    leaking.watch.stop();
  });
});
