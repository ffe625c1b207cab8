import { describe, expect, it } from 'vitest';
import { type Random, SeededRandom } from '../../base/random.ts';
import { NEVER } from '../../base/time.ts';
import { LeakDetector, type LeakVerdict } from './leak-detector.ts';
import { DEFAULT_LEAK_OPTIONS } from './options.ts';

const MB = 1_000_000;
const SEEDS = Array.from({ length: 12 }, (_, index) => index + 1);
/** One request each. */
const SAMPLES = 20_000;

/** Resident memory after so many requests. */
type Plant = (requests: number, random: Random) => number;

/** Roughly normal: the sum of uniform numbers. */
function noise(random: Random, deviationBytes: number): number {
  let sum = -6;
  for (let index = 0; index < 12; index += 1) sum += random.next();
  return sum * deviationBytes;
}

/** Kinds of all verdicts of a run, without repetition, and the first that was not steady. */
function watch(
  plant: Plant,
  { seed = 1, samples = SAMPLES, detector = new LeakDetector() } = {},
): { kinds: string[]; alarm: LeakVerdict | undefined; alarmAt: number } {
  const random = new SeededRandom(seed);
  const kinds = new Set<string>();
  let alarm: LeakVerdict | undefined;
  let alarmAt = NEVER;
  for (let requests = 1; requests <= samples; requests += 1) {
    const sample = { requests, bytes: plant(requests, random), limitBytes: 2000 * MB };
    const verdict = detector.observed(sample, requests * 10);
    kinds.add(verdict.kind);
    if (verdict.kind === 'steady' || alarm) continue;
    alarm = verdict;
    alarmAt = requests;
  }
  return { kinds: [...kinds], alarm, alarmAt };
}

describe('LeakDetector sees no leak in', () => {
  const healthy: Record<string, Plant> = {
    noise: (_, random) => 300 * MB + noise(random, 20 * MB),
    'noise with spikes': (_, random) =>
      300 * MB + noise(random, 5 * MB) + (random.next() < 0.01 ? 90 * MB : 0),
    'the saw of a garbage collector': (requests, random) =>
      300 * MB + ((requests * 40_000) % (50 * MB)) + noise(random, MB),
    'a saw with quick teeth': (requests, random) =>
      300 * MB + ((requests * 3 * MB) % (90 * MB)) + noise(random, MB),
    'a step that stays': (requests, random) => (requests < 3000 ? 300 : 390) * MB + noise(random, 2 * MB),
    'a step in the middle of the window, and another later': (requests, random) =>
      (300 + (requests > 8000 ? 90 : 0) + (requests > 9000 ? 50 : 0)) * MB + noise(random, 2 * MB),
    'growth that comes to rest': (requests, random) =>
      300 * MB + 60 * MB * (1 - Math.exp(-requests / 400)) + noise(random, 2 * MB),
    'a warm-up': (requests, random) =>
      (requests < 90 ? 100 + requests * 5 : 550) * MB + noise(random, 2 * MB),
    'a slow tide of the machine': (requests, random) =>
      300 * MB + 25 * MB * Math.sin(requests / 1500) + noise(random, 3 * MB),
    'memory that falls': (requests, random) => 500 * MB - requests * 5000 + noise(random, 3 * MB),
    'a leak that is too small to matter': (requests, random) =>
      300 * MB + requests * 500 + noise(random, 3 * MB),
  };

  for (const [what, plant] of Object.entries(healthy)) {
    it(what, () => {
      for (const seed of SEEDS) expect(watch(plant, { seed }).kinds).toEqual(['steady']);
    });
  }
});

describe('LeakDetector finds', () => {
  const leaks: Record<string, Plant> = {
    '10 KB a request in noise': (requests, random) => 300 * MB + requests * 10_000 + noise(random, 10 * MB),
    '10 KB a request under the saw of a garbage collector': (requests, random) =>
      300 * MB + requests * 10_000 + ((requests * 200_000) % (30 * MB)) + noise(random, MB),
    '10 KB a request on average, in steps of the allocator': (requests, random) =>
      300 * MB + Math.floor(requests / 400) * 4 * MB + noise(random, 2 * MB),
  };

  for (const [what, plant] of Object.entries(leaks)) {
    it(`${what}, and how much it is`, () => {
      for (const seed of SEEDS) {
        const { alarm, alarmAt } = watch(plant, { seed });
        expect(alarm?.kind).toBe('growing');
        expect(alarm?.bytesPerRequest).toBeGreaterThan(7000);
        expect(alarm?.bytesPerRequest).toBeLessThan(13_000);
        expect(alarmAt).toBeLessThan(12_000);
      }
    });
  }

  it('a leak that begins late, in a window that has moved on', () => {
    const detector = new LeakDetector({ maxPointSamples: 16 });
    const plant: Plant = (requests, random) =>
      (300 + Math.max(0, requests - 10_000) * 0.2) * MB + noise(random, 2 * MB);
    const { alarm, alarmAt } = watch(plant, { detector, samples: 13_000 });
    expect(alarm?.kind).toBe('growing');
    expect(alarmAt).toBeGreaterThan(10_000);
    expect(alarmAt).toBeLessThan(11_000);
  });

  it('when the limit will be reached', () => {
    // 20 KB a request, a request each 10 ms: 2 MB a second.
    const { alarm, alarmAt } = watch((requests) => 300 * MB + requests * 20_000);
    const leftBytes = 1700 * MB - alarmAt * 20_000;
    expect(alarm?.limitInMs).toBeCloseTo(leftBytes / 2000, -1);
    expect(alarm?.because).toMatch(/^memory grows by 20000 bytes a request, over \d+ requests$/);
  });
});

describe('A jump', () => {
  const jumpAt =
    (at: number, bytes: number, length = NEVER): Plant =>
    (requests) =>
      300 * MB + (requests >= at && requests < at + length ? bytes : 0);

  it('of more than 100 MB that stays is a reason to recycle, until it is done', () => {
    const detector = new LeakDetector();
    const { alarm, alarmAt } = watch(jumpAt(1000, 101 * MB), { detector, samples: 2000 });
    expect(alarm).toMatchObject({ kind: 'jumped', limitInMs: NEVER });
    expect(alarm?.because).toBe('memory grew by 101 MB in one request, and kept it');
    expect(alarmAt).toBe(1000 + DEFAULT_LEAK_OPTIONS.jumpSamples);
    expect(detector.observed({ requests: 2001, bytes: 300 * MB }, 20_010).kind).toBe('jumped');
    detector.recycled();
    expect(detector.observed({ requests: 1, bytes: 300 * MB }, 20_020).kind).toBe('steady');
  });

  it('of 100 MB is none', () => {
    expect(watch(jumpAt(1000, 100 * MB), { samples: 3000 }).kinds).toEqual(['steady']);
  });

  it('that a large request takes back at once is none', () => {
    expect(watch(jumpAt(1000, 500 * MB, 2), { samples: 3000 }).kinds).toEqual(['steady']);
  });

  it('during the warm-up is none', () => {
    expect(watch(jumpAt(50, 500 * MB), { samples: 3000 }).kinds).toEqual(['steady']);
  });

  it('between samples that are many requests apart can be blamed on none of them', () => {
    const detector = new LeakDetector();
    detector.observed({ requests: 0, bytes: 0 }, 0);
    for (let sample = 1; sample <= 20; sample += 1) {
      const bytes = (sample < 10 ? 300 : 500) * MB;
      expect(detector.observed({ requests: sample * 1000, bytes }, sample).kind).toBe('steady');
    }
  });

  it('to a level that the process before needed too does not recycle for ever', () => {
    const detector = new LeakDetector();
    expect(watch(jumpAt(1000, 200 * MB), { detector, samples: 2000 }).kinds).toContain('jumped');
    detector.recycled();
    expect(watch(jumpAt(500, 200 * MB), { detector, samples: 2000 }).kinds).toEqual(['steady']);
    detector.recycled();
    expect(watch(jumpAt(500, 350 * MB), { detector, samples: 2000 }).kinds).toContain('jumped');
  });
});

describe('LeakDetector', () => {
  it('forgets the slope of a process that was recycled', () => {
    const detector = new LeakDetector();
    const leak: Plant = (requests) => 300 * MB + requests * 50_000;
    expect(watch(leak, { detector, samples: 5000 }).alarm?.kind).toBe('growing');
    detector.recycled();
    expect(watch(() => 300 * MB, { detector, samples: 5000 }).kinds).toEqual(['steady']);
  });

  it('ignores samples that do not come after the last', () => {
    const detector = new LeakDetector({ warmupRequests: 0 });
    detector.observed({ requests: 10, bytes: 300 * MB }, 0);
    for (let again = 1; again < 100; again += 1) {
      expect(detector.observed({ requests: 10, bytes: 900 * MB }, again).kind).toBe('steady');
    }
  });
});
