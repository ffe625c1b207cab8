import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../base/random.ts';
import type { BreakerWeight } from '../../errors/registry.ts';
import { Breaker } from './breaker.ts';

function aBreaker(options: ConstructorParameters<typeof Breaker>[1] = {}): Breaker {
  return new Breaker(new SeededRandom(1), options);
}

function call(breaker: Breaker, failure: BreakerWeight | undefined, now: number): void {
  breaker.ended(breaker.ticket, failure, now);
}

/** Open, with the instant from which it is half-open for certain. */
function opened(breaker: Breaker, at = 0): number {
  for (let count = 0; count < 5; count += 1) call(breaker, 'hard', at);
  expect(breaker.state(at).kind).toBe('open');
  return at + 1000;
}

describe('Breaker', () => {
  it('opens at once after hard failures in a row', () => {
    const breaker = aBreaker();
    for (let count = 0; count < 4; count += 1) call(breaker, 'hard', 0);
    expect(breaker.allows(0)).toBe(true);
    call(breaker, 'hard', 0);
    expect(breaker.allows(0)).toBe(false);
  });

  it('opens by the share of hard failures, given enough calls', () => {
    const breaker = aBreaker();
    for (let count = 0; count < 9; count += 1) call(breaker, count % 2 === 0 ? 'hard' : undefined, count);
    expect(breaker.allows(10)).toBe(true);
    call(breaker, 'hard', 10);
    expect(breaker.allows(10)).toBe(false);
  });

  it('is not opened by bad input, slowness or refusals of our own', () => {
    const breaker = aBreaker();
    for (let count = 0; count < 1000; count += 1) call(breaker, count % 2 === 0 ? 'none' : 'soft', count);
    expect(breaker.allows(1000)).toBe(true);
  });

  it('lets its window turn while nobody calls: failures of an idle time are no trend', () => {
    const breaker = aBreaker({ minCalls: 2, consecutive: 100 });
    call(breaker, undefined, 0);
    call(breaker, 'hard', 100);
    // Half failed then; an age later one more failure stands alone.
    const fresh = aBreaker({ minCalls: 2, consecutive: 100, failureRatio: 0.6 });
    call(fresh, 'hard', 0);
    call(fresh, 'hard', 15_000);
    expect(fresh.allows(15_000)).toBe(true);
  });

  it('does not let a single failure open it, whatever the volume threshold says', () => {
    const breaker = aBreaker({ minCalls: 0, failureRatio: 0.9 });
    call(breaker, undefined, 0);
    call(breaker, 'hard', 1);
    expect(breaker.allows(1)).toBe(true);
  });

  it('takes no notice of a late answer from before the trip', () => {
    const breaker = aBreaker();
    const old = breaker.ticket;
    const halfOpenAt = opened(breaker);
    breaker.ended(old, undefined, 10);
    expect(breaker.state(10).kind).toBe('open');
    expect(breaker.state(halfOpenAt).kind).toBe('half-open');
    breaker.ended(old, undefined, halfOpenAt);
    breaker.probed(old, true, halfOpenAt);
    expect(breaker.state(halfOpenAt).kind).toBe('half-open');
  });

  it('probes one at a time and blocks nobody while a probe hangs', () => {
    const breaker = aBreaker();
    const at = opened(breaker);
    expect(breaker.takeProbe(at)).toBeDefined();
    for (let caller = 0; caller < 200; caller += 1) {
      expect(breaker.allows(at)).toBe(false);
      expect(breaker.takeProbe(at)).toBeUndefined();
    }
    expect(breaker.state(at + 5000).kind).toBe('open');
    expect(breaker.state(at + 5000 + 2000).kind).toBe('half-open');
    expect(breaker.takeProbe(at + 7000)).toBeDefined();
  });

  it('closes after good probes in a row, and not by the answer of one that had hung', () => {
    const breaker = aBreaker();
    let at = opened(breaker);
    const hung = breaker.takeProbe(at) ?? -1;
    at += 10_000;
    expect(breaker.state(at - 4000).kind).toBe('open');
    expect(breaker.state(at).kind).toBe('half-open');
    breaker.probed(hung, true, at);
    const first = breaker.takeProbe(at) ?? -1;
    breaker.probed(first, true, at);
    breaker.probed(first, true, at);
    expect(breaker.allows(at)).toBe(false);
    breaker.probed(breaker.takeProbe(at) ?? -1, true, at);
    expect(breaker.allows(at)).toBe(true);
  });

  it('stays open longer with each failed probe, within its bound', () => {
    const breaker = aBreaker({ maxOpenMs: 4000 });
    let at = opened(breaker);
    const waits: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      breaker.probed(breaker.takeProbe(at) ?? -1, false, at);
      const state = breaker.state(at);
      waits.push(state.kind === 'open' ? state.openMs : 0);
      at += 4000;
    }
    expect(waits).toEqual([2000, 4000, 4000, 4000, 4000]);
  });

  it('only ever makes legal transitions, and remembers a bounded number of them', () => {
    const legal = new Set(['closed open', 'open half-open', 'half-open open', 'half-open closed']);
    const events = fc.array(
      fc.record({
        kind: fc.constantFrom('hard', 'soft', 'good', 'probe', 'probed-well', 'probed-badly', 'late'),
        afterMs: fc.integer({ min: 0, max: 3000 }),
      }),
      { maxLength: 300 },
    );
    fc.assert(
      fc.property(events, fc.integer(), (list, seed) => {
        const breaker = new Breaker(new SeededRandom(seed), { maxHistory: 16 });
        let now = 0;
        let probe = -1;
        for (const { kind, afterMs } of list) {
          now += afterMs;
          if (kind === 'probe') probe = breaker.takeProbe(now) ?? probe;
          else if (kind === 'probed-well' || kind === 'probed-badly')
            breaker.probed(probe, kind === 'probed-well', now);
          else if (kind === 'late') breaker.ended(breaker.ticket - 1, 'hard', now);
          else call(breaker, kind === 'good' ? undefined : (kind as 'hard' | 'soft'), now);
          expect(breaker.allows(now)).toBe(breaker.state(now).kind === 'closed');
        }
        expect(breaker.history.length).toBeLessThanOrEqual(16);
        for (const { from, to } of breaker.history) expect(legal).toContain(`${from} ${to}`);
      }),
      { numRuns: 200 },
    );
  });
});
