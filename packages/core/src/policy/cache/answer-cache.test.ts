import { assert, beforeEach, describe, expect, it } from 'vitest';
import { AnswerCache, type CacheLookup } from './answer-cache.ts';
import type { Flight, Follower, Lead } from './flight.ts';
import { ENTRY_OVERHEAD_BYTES } from './kept-answers.ts';

const TTL_MS = 1000;
const STALE_MS = 5000;

let cache: AnswerCache<string>;

beforeEach(() => {
  cache = new AnswerCache({ ttlMs: TTL_MS, staleMs: STALE_MS });
});

function leadOf(lookup: CacheLookup<string>): Lead<string> {
  assert(lookup.kind === 'lead');
  return lookup.lead;
}

function flightOf(lookup: CacheLookup<string>): Flight<string> {
  assert(lookup.kind === 'join');
  return lookup.flight;
}

function anAnswer(value: string, bytes = value.length): { value: string; bytes: number; keep: boolean } {
  return { value, bytes, keep: true };
}

function fill(key: string, value: string, now: number, bytes?: number): void {
  leadOf(cache.lookup(key, now)).succeed(anAnswer(value, bytes), now);
}

/** Keeps what it is told. */
class Listener implements Follower<string> {
  readonly told: string[] = [];
  lead: Lead<string> | undefined = undefined;

  onValue(value: string): void {
    this.told.push(value);
  }

  onLead(lead: Lead<string>): void {
    this.told.push('lead');
    this.lead = lead;
  }
}

function joined(key = 'k', now = 0): Listener {
  const listener = new Listener();
  flightOf(cache.lookup(key, now)).follow(listener);
  return listener;
}

describe('AnswerCache', () => {
  it('gives back what was computed, with its age, until it is too old', () => {
    fill('k', 'cat', 100);
    expect(cache.lookup('k', 100)).toEqual({ kind: 'hit', value: 'cat', ageMs: 0 });
    expect(cache.lookup('k', 100 + TTL_MS - 1)).toEqual({ kind: 'hit', value: 'cat', ageMs: TTL_MS - 1 });
    expect(cache.lookup('k', 100 + TTL_MS).kind).toBe('lead');
    expect(cache.lookup('other', 100).kind).toBe('lead');
  });

  it('serves an answer that is too old only when asked for it, and only within its window', () => {
    fill('k', 'cat', 0);
    leadOf(cache.lookup('k', TTL_MS)).abandon();
    expect(cache.stale('k', TTL_MS)).toEqual({ value: 'cat', ageMs: TTL_MS });
    expect(cache.stale('k', TTL_MS + STALE_MS - 1)?.value).toBe('cat');
    expect(cache.stale('k', TTL_MS + STALE_MS)).toBeUndefined();
    expect(cache.counters).toMatchObject({ stale: 2, entries: 0, bytes: 0 });
  });

  it('replaces an answer that is too old by the new one', () => {
    fill('k', 'old', 0);
    fill('k', 'new', TTL_MS);
    expect(cache.lookup('k', TTL_MS)).toMatchObject({ kind: 'hit', value: 'new' });
    expect(cache.counters).toMatchObject({ entries: 1, bytes: 1 + 3 + ENTRY_OVERHEAD_BYTES });
  });

  it('never keeps a failure', () => {
    leadOf(cache.lookup('k', 0)).abandon();
    expect(cache.lookup('k', 0).kind).toBe('lead');
    expect(cache.counters).toMatchObject({ misses: 2, kept: 0, flights: 1 });
  });

  it('pushes out what was not used for longest', () => {
    const entry = 1 + 100 + ENTRY_OVERHEAD_BYTES;
    cache = new AnswerCache({ maxBytes: 3 * entry, maxValueRatio: 1 });
    for (const key of ['a', 'b', 'c']) fill(key, key, 0, 100);
    cache.lookup('a', 0);
    fill('d', 'd', 0, 100);
    expect(['a', 'b', 'c', 'd'].map((key) => cache.lookup(key, 0).kind)).toEqual([
      'hit',
      'lead',
      'hit',
      'hit',
    ]);
    expect(cache.counters).toMatchObject({ evictions: 1, entries: 3, bytes: 3 * entry });
  });

  it('does not keep an answer larger than its share, and pushes nothing out for it', () => {
    cache = new AnswerCache({ maxBytes: 10_000, maxValueRatio: 0.1 });
    fill('small', 'x', 0, 100);
    const lead = leadOf(cache.lookup('large', 0));
    const follower = joined('large');
    lead.succeed(anAnswer('large', 1000), 0);
    expect(follower.told).toEqual(['large']);
    expect(cache.lookup('large', 0).kind).toBe('lead');
    expect(cache.lookup('small', 0).kind).toBe('hit');
    expect(cache.counters).toMatchObject({ tooLarge: 1, evictions: 0 });
  });

  it('keeps nothing when it may hold nothing, and still joins flights', () => {
    cache = new AnswerCache({ maxBytes: 0 });
    const lead = leadOf(cache.lookup('k', 0));
    const follower = joined();
    lead.succeed(anAnswer('cat'), 0);
    expect(follower.told).toEqual(['cat']);
    expect(cache.lookup('k', 0).kind).toBe('lead');
  });

  it('shares an answer that must not be kept, and forgets it', () => {
    const lead = leadOf(cache.lookup('k', 0));
    const follower = joined();
    lead.succeed({ ...anAnswer('degraded'), keep: false }, 0);
    expect(follower.told).toEqual(['degraded']);
    expect(cache.lookup('k', 0).kind).toBe('lead');
  });

  it('clears the keys that start with a prefix, and no others', () => {
    fill('1:a:v1:x', 'x', 0);
    fill('1:a:v2:x', 'x', 0);
    fill('1:b:v1:x', 'x', 0);
    expect(cache.clear('1:a:v1:')).toBe(1);
    expect(cache.clear('1:a:')).toBe(1);
    expect(cache.stale('1:a:v1:x', 0)).toBeUndefined();
    expect(cache.lookup('1:b:v1:x', 0).kind).toBe('hit');
    expect(cache.clear()).toBe(1);
    expect(cache.counters).toMatchObject({ entries: 0, bytes: 0 });
  });

  it('gives a flight that was cleared to its followers, but does not keep it', () => {
    const lead = leadOf(cache.lookup('k', 0));
    const follower = joined();
    cache.clear('k');
    lead.succeed(anAnswer('cat'), 0);
    expect(follower.told).toEqual(['cat']);
    expect(cache.lookup('k', 0).kind).toBe('lead');
  });
});

describe('A flight', () => {
  it('answers all who joined it from one run', () => {
    const lead = leadOf(cache.lookup('k', 0));
    const followers = [joined(), joined(), joined()];
    lead.succeed(anAnswer('cat'), 5);
    for (const { told } of followers) expect(told).toEqual(['cat']);
    expect(cache.lookup('k', 5).kind).toBe('hit');
    expect(cache.counters).toMatchObject({ misses: 1, joins: 3, hits: 1, flights: 0 });
  });

  it('is handed to the follower that came first when its leader fails, and the others go on waiting', () => {
    const lead = leadOf(cache.lookup('k', 0));
    const [first, second] = [joined(), joined()];
    lead.abandon();
    expect([first.told, second.told]).toEqual([['lead'], []]);
    expect(cache.lookup('k', 0).kind).toBe('join');
    first.lead?.succeed(anAnswer('cat'), 9);
    expect([first.told, second.told]).toEqual([['lead'], ['cat']]);
    expect(cache.counters).toMatchObject({ handovers: 1, misses: 1 });
  });

  it('does not tell a follower that has left', () => {
    const lead = leadOf(cache.lookup('k', 0));
    const flight = flightOf(cache.lookup('k', 0));
    const [gone, other] = [new Listener(), new Listener()];
    flight.follow(gone);
    flight.follow(other);
    expect(flight.leave(gone)).toBe(true);
    expect(flight.leave(gone)).toBe(false);
    lead.abandon();
    expect([gone.told, other.told]).toEqual([[], ['lead']]);
  });

  it('says to a follower that leaves after its end that it had one', () => {
    const lead = leadOf(cache.lookup('k', 0));
    const flight = flightOf(cache.lookup('k', 0));
    const follower = new Listener();
    flight.follow(follower);
    lead.succeed(anAnswer('cat'), 0);
    expect(flight.leave(follower)).toBe(false);
  });

  it('does not tell a follower that another one makes leave while the answer is given out', () => {
    const lead = leadOf(cache.lookup('k', 0));
    const flight = flightOf(cache.lookup('k', 0));
    const second = new Listener();
    flight.follow({ onValue: () => flight.leave(second), onLead: () => {} });
    flight.follow(second);
    lead.succeed(anAnswer('cat'), 0);
    expect(second.told).toEqual([]);
  });

  it('ends when no follower is left to lead it', () => {
    const lead = leadOf(cache.lookup('k', 0));
    const follower = joined();
    lead.abandon();
    follower.lead?.abandon();
    expect(cache.counters.flights).toBe(0);
    expect(cache.lookup('k', 0).kind).toBe('lead');
  });

  it('takes so many followers; others compute for themselves', () => {
    cache = new AnswerCache({ maxFollowers: 2 });
    leadOf(cache.lookup('k', 0));
    joined();
    joined();
    expect(cache.lookup('k', 0)).toEqual({ kind: 'pass' });
    expect(cache.counters).toMatchObject({ joins: 2, passes: 1 });
  });

  it('changes nothing when an ended lead ends again', () => {
    const lead = leadOf(cache.lookup('k', 0));
    const follower = joined();
    lead.abandon();
    expect(lead.succeed(anAnswer('late'), 0)).toBe(false);
    lead.abandon();
    expect(follower.told).toEqual(['lead']);
    expect(cache.lookup('k', 0).kind).toBe('join');
  });

  it('passes through followers that all give up at once without deepening the stack', () => {
    const followers = 20_000;
    cache = new AnswerCache({ maxFollowers: followers });
    const lead = leadOf(cache.lookup('k', 0));
    const flight = flightOf(cache.lookup('k', 0));
    let led = 0;
    for (let index = 0; index < followers; index += 1) {
      flight.follow({
        onValue: () => {},
        onLead: (next) => {
          led += 1;
          next.abandon();
        },
      });
    }
    lead.abandon();
    expect(led).toBe(followers);
    expect(cache.counters.flights).toBe(0);
  });

  it('makes who asks between two leaders the leader', () => {
    const lead = leadOf(cache.lookup('k', 0));
    const flight = flightOf(cache.lookup('k', 0));
    const waiting = new Listener();
    let again: CacheLookup<string> | undefined;
    flight.follow({
      onValue: () => {},
      onLead: (next) => {
        next.abandon();
        again = cache.lookup('k', 0);
      },
    });
    flight.follow(waiting);
    lead.abandon();
    assert(again?.kind === 'lead');
    expect(waiting.told).toEqual([]);
    again.lead.succeed(anAnswer('cat'), 0);
    expect(waiting.told).toEqual(['cat']);
    expect(cache.counters.flights).toBe(0);
  });
});
