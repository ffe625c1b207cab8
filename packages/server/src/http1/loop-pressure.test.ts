import { describe, expect, it } from 'vitest';
import { LoopPressure } from './loop-pressure.ts';

describe('LoopPressure', () => {
  it('is not moved by one stall', () => {
    const pressure = new LoopPressure();
    pressure.observed(100);
    expect(pressure.saturated).toBe(false);
    pressure.observed(0);
    expect(pressure.saturated).toBe(false);
  });

  it('is saturated by turns that stay long, until they have been short for a while', () => {
    const pressure = new LoopPressure();
    for (let look = 0; look < 3; look += 1) pressure.observed(100);
    expect(pressure.saturated).toBe(true);
    for (let look = 0; look < 5; look += 1) pressure.observed(5);
    expect(pressure.saturated).toBe(true);
    for (let look = 0; look < 15; look += 1) pressure.observed(0);
    expect(pressure.saturated).toBe(false);
  });

  it('takes a loop that is busy and fine for fine', () => {
    const pressure = new LoopPressure();
    for (let look = 0; look < 1000; look += 1) pressure.observed(look % 7);
    expect(pressure.saturated).toBe(false);
  });
});
