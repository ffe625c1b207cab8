import { describe, expect, it } from 'vitest';
import { SustainedDelay } from './sustained-delay.ts';

const OPTIONS = { targetMs: 60, intervalMs: 200 };

describe('SustainedDelay', () => {
  it('is not moved by a burst that passes within the interval', () => {
    const delay = new SustainedDelay(OPTIONS);
    for (let now = 0; now < 190; now += 10) delay.waited(500, now);
    expect(delay.isSustained(190)).toBe(false);
    delay.waited(10, 195);
    expect(delay.isSustained(1000)).toBe(false);
  });

  it('is sustained when every wait of an interval was over the target', () => {
    const delay = new SustainedDelay(OPTIONS);
    for (let now = 0; now <= 200; now += 10) delay.waited(61, now);
    expect(delay.isSustained(200)).toBe(true);
  });

  it('ends with one short wait, and with an empty queue', () => {
    const delay = new SustainedDelay(OPTIONS);
    for (let now = 0; now <= 300; now += 10) delay.waited(100, now);
    delay.waited(59, 310);
    expect(delay.isSustained(310)).toBe(false);
    for (let now = 320; now <= 700; now += 10) delay.waited(100, now);
    expect(delay.isSustained(700)).toBe(true);
    delay.emptied();
    expect(delay.isSustained(701)).toBe(false);
  });

  it('is forgotten when nothing is seen any more', () => {
    const delay = new SustainedDelay(OPTIONS);
    for (let now = 0; now <= 300; now += 10) delay.waited(100, now);
    expect(delay.isSustained(650)).toBe(true);
    expect(delay.isSustained(750)).toBe(false);
    delay.waited(100, 10_000);
    expect(delay.isSustained(10_000)).toBe(false);
  });
});
