import { performance } from 'node:perf_hooks';
import { describe, expect, it } from 'vitest';
import { EventLoopDelay } from './event-loop-delay.ts';

const turns = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('EventLoopDelay', () => {
  it('sees a blocked loop, and reports what is beyond its own resolution', async () => {
    const delay = new EventLoopDelay();
    await turns(40);
    const end = performance.now() + 80;
    while (performance.now() < end);
    await turns(40);
    const { maxSeconds, p50Seconds } = delay.read();
    delay.close();
    expect(maxSeconds).toBeGreaterThan(0.05);
    expect(p50Seconds).toBeLessThan(maxSeconds);
  });
});
