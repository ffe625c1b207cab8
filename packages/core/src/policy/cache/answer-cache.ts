import { assert } from '../../base/assert.ts';
import type { Instant } from '../../base/time.ts';
import { Flight, type FlightEvents, type Lead, type LeaderAnswer } from './flight.ts';
import { entryBytes, type KeptAnswer, KeptAnswers } from './kept-answers.ts';
import { type AnswerCacheOptions, DEFAULT_ANSWER_CACHE_OPTIONS } from './options.ts';

export interface CachedAnswer<Value> {
  readonly value: Value;
  readonly ageMs: number;
}

/** What a caller does about its request. */
export type CacheLookup<Value> =
  | ({ readonly kind: 'hit' } & CachedAnswer<Value>)
  /** Nobody computes this answer: the caller does, and ends the lead whatever comes. */
  | { readonly kind: 'lead'; readonly lead: Lead<Value> }
  /** Somebody computes it already: the caller follows that flight. */
  | { readonly kind: 'join'; readonly flight: Flight<Value> }
  /** Somebody does, and too many wait for it: the caller computes for itself, beside the cache. */
  | { readonly kind: 'pass' };

/** Counted since the cache was made, but for the last three, which are now. */
export interface AnswerCacheCounters {
  readonly hits: number;
  /** Lookups that were told to lead. */
  readonly misses: number;
  readonly joins: number;
  readonly passes: number;
  /** Answers served instead of an error, after their time. */
  readonly stale: number;
  readonly kept: number;
  /** Answers that were larger than an answer may be. */
  readonly tooLarge: number;
  /** Answers that had to leave for others, not those that grew too old or were cleared. */
  readonly evictions: number;
  /** Followers that became leaders. */
  readonly handovers: number;
  readonly bytes: number;
  readonly entries: number;
  readonly flights: number;
}

/**
 * Decides what: whether a request is answered from memory, by a run that somebody else waits for already, or by a run of
 * its own.
 *
 * Why this design: a single flight per key keeps a burst of equal requests from becoming as many runs. Its leader's
 * failure is the leader's own (its client left, its deadline was shorter), so the next follower tries instead of all
 * failing together; errors are never kept. Bytes are what a container runs out of, so bytes are the bound, with the
 * least recently used first to leave: the callers choose the keys, and nothing cleverer has been shown to be needed.
 * Answers that are too old stay for `staleMs` as a last good answer (RFC 5861, stale-if-error); serving one is the
 * degradation ladder's decision, so it is asked for by `stale` and never given by `lookup`.
 *
 * Transitions of a key: unknown → flight (lead) → kept, or unknown when no follower is left · kept → too old after
 * `ttlMs` → flight beside it · too old → gone after `staleMs`, found out when it is asked for, or when space is needed.
 * Cold start: empty. Recovery: `clear` forgets a model or a version; flights go on, but are not kept.
 * Not counted in the bytes: answers in flight, which belong to the calls of their leaders. Flights are not bounded here:
 * each has a leader, which is an open call, and those are bounded by admission.
 */
export class AnswerCache<Value> {
  readonly #options: AnswerCacheOptions;
  readonly #kept: KeptAnswers<Value>;
  readonly #flights = new Map<string, Flight<Value>>();
  readonly #events: FlightEvents<Value> = {
    onAnswer: (flight, answer, now) => this.#landed(flight, answer, now),
    onAbandoned: ({ key }) => this.#flights.delete(key),
    onHandedOn: () => {
      this.#handovers += 1;
    },
  };
  #hits = 0;
  #misses = 0;
  #joins = 0;
  #passes = 0;
  #stale = 0;
  #keeps = 0;
  #tooLarge = 0;
  #evictions = 0;
  #handovers = 0;

  constructor(options: Partial<AnswerCacheOptions> = {}) {
    this.#options = { ...DEFAULT_ANSWER_CACHE_OPTIONS, ...options };
    const { maxBytes, maxValueRatio, ttlMs, staleMs, maxFollowers } = this.#options;
    assert(maxBytes >= 0 && maxFollowers >= 0, 'bounds are not negative');
    assert(ttlMs >= 0 && staleMs >= 0, 'durations are not negative');
    assert(maxValueRatio >= 0 && maxValueRatio <= 1, 'a ratio lies in [0, 1]');
    this.#kept = new KeptAnswers(maxBytes);
  }

  get counters(): AnswerCacheCounters {
    return {
      hits: this.#hits,
      misses: this.#misses,
      joins: this.#joins,
      passes: this.#passes,
      stale: this.#stale,
      kept: this.#keeps,
      tooLarge: this.#tooLarge,
      evictions: this.#evictions,
      handovers: this.#handovers,
      bytes: this.#kept.bytes,
      entries: this.#kept.size,
      flights: this.#flights.size,
    };
  }

  lookup(key: string, now: Instant): CacheLookup<Value> {
    const entry = this.#find(key, now);
    if (entry && this.#isFresh(entry, now)) {
      this.#kept.touch(entry);
      this.#hits += 1;
      return { kind: 'hit', value: entry.value, ageMs: now - entry.storedAt };
    }
    const flight = this.#flights.get(key);
    if (flight && !flight.vacant) return this.#join(flight);
    this.#misses += 1;
    return { kind: 'lead', lead: (flight ?? this.#depart(key)).takeLead() };
  }

  /** The last good answer, too old or not, for a request that could not be answered otherwise. */
  stale(key: string, now: Instant): CachedAnswer<Value> | undefined {
    const entry = this.#find(key, now);
    if (!entry) return undefined;
    this.#kept.touch(entry);
    this.#stale += 1;
    return { value: entry.value, ageMs: now - entry.storedAt };
  }

  /**
   * Forgets every answer whose key starts with `prefix`, and keeps none that is computed now; returns how many were
   * forgotten. All of them by default.
   */
  clear(prefix = ''): number {
    for (const flight of this.#flights.values()) if (flight.key.startsWith(prefix)) flight.cleared = true;
    return this.#kept.removeAll(prefix);
  }

  #landed(flight: Flight<Value>, { value, bytes, keep }: LeaderAnswer<Value>, now: Instant): void {
    const { key } = flight;
    this.#flights.delete(key);
    if (!keep || flight.cleared) return;
    const { maxBytes, maxValueRatio } = this.#options;
    if (entryBytes(key, bytes) > maxBytes * maxValueRatio) {
      this.#tooLarge += 1;
      return;
    }
    this.#evictions += this.#kept.keep({ key, value, valueBytes: bytes }, now);
    this.#keeps += 1;
  }

  #join(flight: Flight<Value>): CacheLookup<Value> {
    if (flight.full) {
      this.#passes += 1;
      return { kind: 'pass' };
    }
    this.#joins += 1;
    return { kind: 'join', flight };
  }

  #depart(key: string): Flight<Value> {
    const flight = new Flight<Value>(key, this.#options.maxFollowers, this.#events);
    this.#flights.set(key, flight);
    return flight;
  }

  /** What is kept and may still be served, in one way or the other. */
  #find(key: string, now: Instant): KeptAnswer<Value> | undefined {
    const entry = this.#kept.find(key);
    if (!entry) return undefined;
    const { ttlMs, staleMs } = this.#options;
    if (now - entry.storedAt < ttlMs + staleMs) return entry;
    this.#kept.remove(entry);
    return undefined;
  }

  #isFresh(entry: KeptAnswer<Value>, now: Instant): boolean {
    return now - entry.storedAt < this.#options.ttlMs;
  }
}
