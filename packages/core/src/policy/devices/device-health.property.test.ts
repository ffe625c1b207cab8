import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../base/random.ts';
import { DeviceHealth, type DeviceTransition } from './device-health.ts';
import { aCondition } from './testing/condition.ts';

const condition = fc.record({
  memory: fc.option(fc.record({ totalBytes: fc.constant(1000), freeBytes: fc.nat(1000) }), {
    nil: undefined,
  }),
  temperatureCelsius: fc.option(fc.nat(110), { nil: undefined }),
  slowdownCelsius: fc.option(fc.constant(90), { nil: undefined }),
  xids: fc.array(fc.constantFrom(13, 31, 79), { maxLength: 1 }),
  lost: fc.boolean(),
});
const event = fc.oneof(
  { arbitrary: fc.record({ kind: fc.constant('observe' as const), condition }), weight: 3 },
  fc.record({ kind: fc.constant('failed' as const) }),
  fc.record({ kind: fc.constant('finished' as const), durationMs: fc.nat(2000) }),
  fc.record({ kind: fc.constant('unmonitored' as const) }),
  { arbitrary: fc.record({ kind: fc.constant('probe' as const), works: fc.boolean() }), weight: 3 },
);
const LEGAL = [
  'healthy→pressured',
  'pressured→healthy',
  'healthy→faulted',
  'pressured→faulted',
  'faulted→healthy',
];

describe('DeviceHealth, whatever happens', () => {
  it('makes legal transitions only, leaves a fault by probes alone, and presses within [0, 1]', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(event, fc.nat(20_000)), { maxLength: 120 }),
        fc.integer(),
        (events, seed) => {
          const health = new DeviceHealth(new SeededRandom(seed));
          let now = 0;
          for (const [each, gapMs] of events) {
            now += gapMs;
            const before = health.state.kind;
            const transition = apply(health, each, now);
            const after = health.state.kind;
            expect(transition === undefined).toBe(before === after);
            if (transition) expect(LEGAL).toContain(`${transition.from}→${transition.to}`);
            if (before === 'faulted' && after !== 'faulted') expect(each.kind).toBe('probe');
            expect(health.pressureRatio).toBeGreaterThanOrEqual(after === 'faulted' ? 1 : 0);
            expect(health.pressureRatio).toBeLessThanOrEqual(after === 'healthy' ? 0 : 1);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});

type HealthEvent = typeof event extends fc.Arbitrary<infer T> ? T : never;

function apply(health: DeviceHealth, each: HealthEvent, now: number): DeviceTransition | undefined {
  switch (each.kind) {
    case 'observe':
      return health.observe(aCondition(each.condition), now);
    case 'failed':
      return health.ran({ kind: 'failed' }, now);
    case 'finished':
      return health.ran({ kind: 'finished', durationMs: each.durationMs, predictedMs: undefined }, now);
    case 'unmonitored':
      return health.unmonitored(now);
    case 'probe': {
      const id = health.startProbe(now);
      return id === undefined ? undefined : health.probed(id, each.works, now);
    }
  }
}
