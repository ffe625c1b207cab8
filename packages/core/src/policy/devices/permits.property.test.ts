import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DevicePermit, DevicePermits } from './permits.ts';

type Step =
  | { readonly kind: 'acquire' | 'lost'; readonly holder: string }
  | { readonly kind: 'release'; readonly which: number }
  | { readonly kind: 'observe'; readonly freeBytes: number | undefined; readonly reusableBytes: number }
  | { readonly kind: 'measured'; readonly peakBytes: number }
  | { readonly kind: 'works'; readonly works: boolean };

const holder = fc.constantFrom('a', 'b', 'c');
const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: fc.record({ kind: fc.constant('acquire' as const), holder }), weight: 5 },
  { arbitrary: fc.record({ kind: fc.constant('release' as const), which: fc.nat(100) }), weight: 3 },
  fc.record({ kind: fc.constant('lost' as const), holder }),
  fc.record({
    kind: fc.constant('observe' as const),
    freeBytes: fc.option(fc.nat(2000), { nil: undefined }),
    reusableBytes: fc.nat(500),
  }),
  fc.record({ kind: fc.constant('measured' as const), peakBytes: fc.nat(300) }),
  fc.record({ kind: fc.constant('works' as const), works: fc.boolean() }),
);

describe('DevicePermits, whatever happens', () => {
  it('are never exceeded, never lost, and at least one while the device works', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const permits = new DevicePermits({ maxPermits: 6 });
        const held: DevicePermit[] = [];
        let works = true;
        for (const each of steps) {
          apply(each);
          expect(permits.held).toBe(held.length);
          expect(permits.limit).toBeLessThanOrEqual(6);
          if (works) expect(permits.limit).toBeGreaterThanOrEqual(1);
          else expect(permits.limit).toBe(0);
        }

        function apply(each: Step): void {
          switch (each.kind) {
            case 'acquire': {
              const before = permits.held;
              const permit = permits.tryAcquire(each.holder);
              expect(permit !== undefined).toBe(before < permits.limit);
              if (permit) held.push(permit);
              break;
            }
            case 'release': {
              const [permit] = held.splice(each.which % Math.max(1, held.length), 1);
              if (permit) permits.release(permit);
              break;
            }
            case 'lost':
              permits.releaseAllOf(each.holder);
              held.splice(0, held.length, ...held.filter((permit) => permit.holder !== each.holder));
              break;
            case 'observe':
              permits.observe(each);
              break;
            case 'measured':
              permits.measured(each.peakBytes);
              break;
            case 'works':
              works = each.works;
              permits.works = each.works;
              break;
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it('hold no more memory than their share of what is free, but for the one that always works', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1e12 }),
        fc.integer({ min: 1, max: 1e11 }),
        (freeBytes, peakBytes) => {
          const permits = new DevicePermits();
          permits.observe({ freeBytes });
          permits.measured(peakBytes);
          if (permits.limit > 1) expect(permits.limit * peakBytes).toBeLessThanOrEqual(freeBytes * 0.8);
        },
      ),
    );
  });
});
