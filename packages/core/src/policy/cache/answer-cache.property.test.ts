import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerCache } from './answer-cache.ts';
import type { Flight, Lead } from './flight.ts';

const KEYS = ['a:1', 'a:2', 'b:1'];
const MAX_BYTES = 4000;
const MAX_FOLLOWERS = 3;

const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('ask' as const), key: fc.constantFrom(...KEYS) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('succeed' as const),
        pick: fc.nat(),
        bytes: fc.integer({ min: 0, max: 2500 }),
        keep: fc.boolean(),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('abandon' as const), pick: fc.nat() }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('leave' as const), pick: fc.nat() }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('clear' as const), prefix: fc.constantFrom('a:', 'b:', '') }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 3000 }) }),
    },
  ),
  { maxLength: 120 },
);

/** A caller as the cache knows it, and how often it was told an end. */
interface Caller {
  readonly key: string;
  readonly flight: Flight<number>;
  ends: number;
  left: boolean;
}

/** Callers around a cache that check what they are told. */
class World {
  now = 0;
  readonly cache = new AnswerCache<number>({
    maxBytes: MAX_BYTES,
    maxValueRatio: 0.5,
    ttlMs: 1000,
    staleMs: 2000,
    maxFollowers: MAX_FOLLOWERS,
  });
  readonly leads = new Map<string, Lead<number>>();
  readonly callers: Caller[] = [];
  passes = 0;

  ask(key: string): void {
    const lookup = this.cache.lookup(key, this.now);
    switch (lookup.kind) {
      case 'hit':
        expect(lookup.ageMs).toBeLessThan(1000);
        return;
      case 'pass':
        expect(this.leads.has(key)).toBe(true);
        this.passes += 1;
        return;
      case 'lead':
        this.#lead(key, lookup.lead);
        return;
      case 'join':
        this.#join(key, lookup.flight);
    }
  }

  waiting(): Caller[] {
    return this.callers.filter(({ ends, left }) => ends === 0 && !left);
  }

  #lead(key: string, lead: Lead<number>): void {
    expect(this.leads.has(key)).toBe(false);
    this.leads.set(key, lead);
  }

  #join(key: string, flight: Flight<number>): void {
    expect(this.leads.has(key)).toBe(true);
    const caller: Caller = { key, flight, ends: 0, left: false };
    this.callers.push(caller);
    const end = (): void => {
      expect(caller.left).toBe(false);
      caller.ends += 1;
    };
    const follower = {
      onValue: end,
      onLead: (lead: Lead<number>) => {
        end();
        this.#lead(key, lead);
      },
    };
    flight.follow(follower);
    this.#followers.set(caller, follower);
  }

  readonly #followers = new Map<Caller, Parameters<Flight<number>['leave']>[0]>();

  leave(caller: Caller): void {
    const follower = this.#followers.get(caller);
    expect(follower && caller.flight.leave(follower)).toBe(true);
    caller.left = true;
  }

  end(pick: number, end: (lead: Lead<number>) => void): void {
    const entries = [...this.leads];
    const entry = entries[pick % Math.max(1, entries.length)];
    if (!entry) return;
    this.leads.delete(entry[0]);
    end(entry[1]);
  }
}

describe('AnswerCache, whatever happens', () => {
  it('stays within its bytes, has one leader for each key at a time, and ends every follower once', () => {
    fc.assert(
      fc.property(steps, (list) => {
        const world = new World();
        const { cache } = world;
        for (const step of list) {
          if (step.kind === 'ask') world.ask(step.key);
          else if (step.kind === 'wait') world.now += step.ms;
          else if (step.kind === 'clear') cache.clear(step.prefix);
          else if (step.kind === 'abandon') world.end(step.pick, (lead) => lead.abandon());
          else if (step.kind === 'leave') {
            const waiting = world.waiting();
            const caller = waiting[step.pick % Math.max(1, waiting.length)];
            if (caller) world.leave(caller);
          } else {
            const { bytes, keep } = step;
            world.end(step.pick, (lead) => lead.succeed({ value: bytes, bytes, keep }, world.now));
          }
          expect(cache.counters.bytes).toBeLessThanOrEqual(MAX_BYTES);
          expect(cache.counters.flights).toBe(world.leads.size);
          for (const caller of world.callers) expect(caller.ends).toBeLessThanOrEqual(1);
          for (const { key } of world.waiting()) expect(world.leads.has(key)).toBe(true);
        }
        for (let rounds = 0; world.leads.size > 0 && rounds <= list.length; rounds += 1) {
          world.end(0, (lead) => lead.abandon());
        }
        expect(cache.counters.flights).toBe(0);
        for (const { ends, left } of world.callers) expect(ends).toBe(left ? 0 : 1);
      }),
      { numRuns: 300 },
    );
  });

  it('counts each lookup once, and its bytes are those of its entries', () => {
    fc.assert(
      fc.property(steps, (list) => {
        const world = new World();
        let asked = 0;
        for (const step of list) {
          if (step.kind === 'ask') {
            world.ask(step.key);
            asked += 1;
          } else if (step.kind === 'abandon') world.end(step.pick, (lead) => lead.abandon());
          else if (step.kind === 'succeed') {
            const { bytes, keep } = step;
            world.end(step.pick, (lead) => lead.succeed({ value: bytes, bytes, keep }, world.now));
          } else if (step.kind === 'wait') world.now += step.ms;
        }
        const { hits, misses, joins, passes } = world.cache.counters;
        expect(hits + misses + joins + passes).toBe(asked);
        expect(passes).toBe(world.passes);
        expect(world.cache.clear()).toBeLessThanOrEqual(KEYS.length);
        expect(world.cache.counters).toMatchObject({ bytes: 0, entries: 0 });
      }),
      { numRuns: 300 },
    );
  });
});
