import { describe, expect, it } from 'vitest';
import { HostLag } from './host-lag.ts';

describe('HostLag', () => {
  it('stretches nothing while the host is quick', () => {
    const lag = new HostLag();
    expect(lag.stretch).toBe(1);
    for (let run = 0; run < 100; run += 1) lag.observed({ runMs: 7, lagMs: 1 });
    expect(lag.stretch).toBe(1);
  });

  it('covers the lateness of a host whose loop is full, within its bound, and goes back', () => {
    const lag = new HostLag();
    for (let run = 0; run < 100; run += 1) lag.observed({ runMs: 0.25, lagMs: 0.9 });
    expect(lag.stretch).toBe(4);
    for (let run = 0; run < 100; run += 1) lag.observed({ runMs: 0.25, lagMs: 60 });
    expect(lag.stretch).toBe(8);
    for (let run = 0; run < 200; run += 1) lag.observed({ runMs: 0.25, lagMs: 0.05 });
    expect(lag.stretch).toBe(1);
  });
});
