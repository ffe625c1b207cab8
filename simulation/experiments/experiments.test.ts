import { describe, expect, it } from 'vitest';
import { EXPERIMENTS } from './experiments.ts';

/** Fifteen worlds, some of them with queues that never end. */
const TIMEOUT_MS = 120_000;

function goodputs(name: string): Map<string, number[]> {
  const table = EXPERIMENTS.find((experiment) => experiment.name === name)?.run(3);
  const rows = table?.rows ?? [];
  return new Map(
    rows.map(([policy = '', ...cells]) => [policy, cells.map((cell) => Number.parseFloat(cell))]),
  );
}

describe('experiments', () => {
  it('admission: a count bounds nothing that matters, a margin of one batch does', {
    timeout: TIMEOUT_MS,
  }, () => {
    const byPolicy = goodputs('admission');
    for (const goodput of byPolicy.get('first come first served, 1024 waiting') ?? [100]) {
      expect(goodput).toBeLessThan(10);
    }
    for (const goodput of byPolicy.get('Gimbal') ?? [0]) expect(goodput).toBeGreaterThan(95);
    const [margin = 0] = byPolicy.get('drops what is within 1.0 batch time of late') ?? [];
    expect(margin).toBeGreaterThan(90);
  });

  it('concurrency: all of the throughput in overload', { timeout: TIMEOUT_MS }, () => {
    const byPolicy = goodputs('concurrency');
    for (const policy of ['fixed: 2 batches', 'Gimbal']) {
      expect(byPolicy.get(policy)?.[2]).toBeGreaterThan(95);
    }
  });
});
