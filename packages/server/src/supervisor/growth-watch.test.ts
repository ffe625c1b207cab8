import { type LeakVerdict, type MemorySample, NEVER } from '@gimbal/core';
import { expect, it } from 'vitest';
import { GrowthWatch } from './growth-watch.ts';

/** Finds a leak from so many requests on. */
function detectorFrom(requests: number) {
  const seen: MemorySample[] = [];
  let recycled = 0;
  return {
    seen,
    get recycledTimes() {
      return recycled;
    },
    observed(sample: MemorySample): LeakVerdict {
      seen.push(sample);
      const kind = sample.requests >= requests ? 'growing' : 'steady';
      return { kind, bytesPerRequest: 10, limitInMs: NEVER, because: 'memory grows' };
    },
    recycled() {
      recycled += 1;
    },
  };
}

it('GrowthWatch tells a leak once for each process', () => {
  const detector = detectorFrom(2);
  const watch = new GrowthWatch(detector);
  expect(watch.observed({ requests: 1, bytes: 10 }, 0)).toBeUndefined();
  expect(watch.worn).toBeUndefined();
  expect(watch.observed({ requests: 2, bytes: 20 }, 1)).toMatchObject({ kind: 'growing' });
  expect(watch.observed({ requests: 3, bytes: 30 }, 2)).toBeUndefined();
  expect(watch.worn).toMatchObject({ kind: 'growing' });
  watch.replaced();
  expect(watch.worn).toBeUndefined();
  expect(detector.recycledTimes).toBe(1);
  expect(watch.observed({ requests: 2, bytes: 40 }, 3)).toMatchObject({ kind: 'growing' });
});

it('GrowthWatch takes the same measurement for one sample', () => {
  const detector = detectorFrom(NEVER);
  const watch = new GrowthWatch(detector);
  for (let requests = 1; requests <= 5; requests += 1) watch.observed({ requests, bytes: 100 }, requests);
  watch.observed({ requests: 6, bytes: 101 }, 6);
  expect(detector.seen.map(({ requests }) => requests)).toEqual([1, 6]);
});
