import type { LeakVerdict } from '@gimbal/core';
import { NEVER } from '@gimbal/core';
import { expect, it } from 'vitest';
import { GrowthWatch } from './growth-watch.ts';
import { type Wear, wornBecause } from './worn.ts';

const NO_LIMITS = { recycleBatches: 0, recycleAgeMs: 0, recycleGrowthBytes: 0 };

function wear(parts: { limits?: Partial<Wear['limits']>; mayGrow?: boolean; leaks?: boolean } = {}): Wear {
  const verdict: LeakVerdict = {
    kind: parts.leaks ? 'growing' : 'steady',
    bytesPerRequest: 1,
    limitInMs: NEVER,
    because: 'memory grows',
  };
  const growth = new GrowthWatch({ observed: () => verdict, recycled: () => {} });
  growth.observed({ requests: 1, bytes: 1 }, 0);
  return {
    slot: { growth },
    runner: { batches: 100, ageMs: () => 5000, growthBytes: 7_000_000 },
    limits: { ...NO_LIMITS, ...parts.limits },
    mayGrow: parts.mayGrow ?? false,
  };
}

it.each([
  [{ recycleBatches: 100 }, 'it has run 100 batches'],
  [{ recycleBatches: 101 }, undefined],
  [{ recycleAgeMs: 5000 }, 'it has worked for 5 s'],
  [{ recycleAgeMs: 5001 }, undefined],
  [{ recycleGrowthBytes: 7_000_000 }, 'its memory has grown by 7 MB since it was loaded'],
  [{ recycleGrowthBytes: 7_000_001 }, undefined],
  [{}, undefined],
])('A runner with the limits %o is worn because %s', (limits, because) => {
  expect(wornBecause(wear({ limits }), 0)).toBe(because);
});

it('A leak wears a runner below the limit of growth, but not while it is borne, nor without a limit', () => {
  const limits = { recycleGrowthBytes: 1e9 };
  expect(wornBecause(wear({ leaks: true, limits }), 0)).toBe('memory grows');
  expect(wornBecause(wear({ leaks: true, limits, mayGrow: true }), 0)).toBeUndefined();
  expect(wornBecause(wear({ leaks: true }), 0)).toBeUndefined();
});
