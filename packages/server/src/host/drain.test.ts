import { describe, expect, it, vi } from 'vitest';
import { Drain, type DrainSteps } from './drain.ts';

function aDrain(times: { lameDuckMs: number; drainTimeoutMs: number }) {
  const done: string[] = [];
  const steps: DrainSteps = {
    announce: () => void done.push('announce'),
    closeListeners: async (graceMs) => void done.push(`listeners ${graceMs}`),
    stopRunners: async (graceMs) => void done.push(`runners ${graceMs}`),
    flush: async () => void done.push('flush'),
  };
  const clock = { now: () => 0, wallTimeMs: () => 0 };
  return { drain: new Drain(steps, times, clock), done };
}

describe('Drain', () => {
  it('announces at once, waits out the lame-duck time, then closes listeners and runners in that order', async () => {
    vi.useFakeTimers();
    const { drain, done } = aDrain({ lameDuckMs: 3000, drainTimeoutMs: 25_000 });
    const finished = drain.request();
    expect(done).toEqual(['announce']);
    await vi.advanceTimersByTimeAsync(2999);
    expect(done).toEqual(['announce']);
    await vi.advanceTimersByTimeAsync(1);
    await finished;
    expect(done).toEqual(['announce', 'listeners 28000', 'runners 28000', 'flush']);
    vi.useRealTimers();
  });

  it('is shortened by a second request', async () => {
    const { drain, done } = aDrain({ lameDuckMs: 60_000, drainTimeoutMs: 25_000 });
    void drain.request();
    await drain.request();
    expect(done).toEqual(['announce', 'listeners 500', 'runners 500', 'flush']);
  });
});
