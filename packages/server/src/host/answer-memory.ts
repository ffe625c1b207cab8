import {
  type AnswerCache,
  type CacheLookup,
  type Clock,
  type Flight,
  type Follower,
  GimbalError,
  type Lead,
  type VersionSpec,
  type WorkDone,
  type WorkResult,
} from '@gimbal/core';
import { copyAnswer } from '../cache/answer-copy.ts';
import { cacheKey, cacheScope } from '../cache/cache-key.ts';
import { contentOf } from '../cache/request-content.ts';
import type { PendingWork } from './call.ts';

/** Codes after which a kept answer, though too old, is better than the error: the server's fault, not the request's. */
const STALE_IF = new Set([
  'OVERLOADED',
  'MODEL_UNAVAILABLE',
  'RUNNER_CRASHED',
  'RUNNER_TIMED_OUT',
  'OUT_OF_MEMORY',
]);

/** What the memory needs from the version that it answers for. */
export interface AnswerMemoryHost {
  readonly arenaBytes: () => Uint8Array;
  /** Runs the work after all. */
  run(pending: PendingWork): void;
  /** Tells the outcome, not before the present call has returned. */
  settleLater(pending: PendingWork, result: WorkResult): void;
  /** Asks back at an instant, unless the returned function was called before. */
  at(instant: number, callback: () => void): () => void;
}

type Waiting =
  | { readonly kind: 'leads'; readonly lead: Lead<WorkDone>; readonly key: string }
  | {
      readonly kind: 'follows';
      readonly flight: Flight<WorkDone>;
      readonly follower: Follower<WorkDone>;
      readonly stopClock: () => void;
    }
  /** Beside the cache, since too many follow already. */
  | { readonly kind: 'alone'; readonly key: string };

/** The kept answers of one version: what is asked again is answered from memory, what is asked at once is run once. */
export class AnswerMemory {
  readonly #cache: AnswerCache<WorkDone>;
  readonly #clock: Clock;
  readonly #host: AnswerMemoryHost;
  readonly #waiting = new Map<PendingWork, Waiting>();

  constructor(cache: AnswerCache<WorkDone>, clock: Clock, host: AnswerMemoryHost) {
    this.#cache = cache;
    this.#clock = clock;
    this.#host = host;
  }

  /** Answers the work, or runs it for all who ask the same. */
  submit(pending: PendingWork, spec: VersionSpec): void {
    const { request } = pending;
    const key = cacheKey({ ...request, ...contentOf(request, spec, this.#host.arenaBytes()) });
    const lookup = this.#cache.lookup(key, this.#clock.now());
    switch (lookup.kind) {
      case 'hit':
        this.#host.settleLater(pending, { ...lookup.value, cached: { kind: 'hit', ageMs: lookup.ageMs } });
        return;
      case 'lead':
        this.#waiting.set(pending, { kind: 'leads', lead: lookup.lead, key });
        break;
      case 'join':
        this.#follow(pending, lookup, key);
        return;
      case 'pass':
        this.#waiting.set(pending, { kind: 'alone', key });
        break;
    }
    this.#host.run(pending);
  }

  /** A work that was run has ended; returns what its call is told. */
  ended(pending: PendingWork, result: WorkResult): WorkResult {
    const waiting = this.#waiting.get(pending);
    if (!waiting || waiting.kind === 'follows') return result;
    this.#waiting.delete(pending);
    if (result.ok) {
      if (waiting.kind === 'leads') this.#keep(waiting.lead, result);
      return result;
    }
    if (waiting.kind === 'leads') waiting.lead.abandon();
    return this.#staleInstead(waiting.key, result);
  }

  /** The client has gone; whether that ends the work here, which no engine knows of. */
  cancelled(pending: PendingWork): boolean {
    const waiting = this.#waiting.get(pending);
    if (waiting?.kind !== 'follows') return false;
    this.#leave(pending, waiting);
    return true;
  }

  /** Forgets what the version has answered. */
  clear({ model, digest }: VersionSpec): void {
    this.#cache.clear(cacheScope(model, digest));
  }

  #follow(
    pending: PendingWork,
    { flight }: Extract<CacheLookup<WorkDone>, { kind: 'join' }>,
    key: string,
  ): void {
    const follower: Follower<WorkDone> = {
      onValue: (answer) => {
        if (!this.#isFollowing(pending)) return;
        const { refusesDegraded = false } = pending.call.context;
        if (answer.rung > 0 && refusesDegraded) this.#host.run(pending);
        else this.#host.settleLater(pending, { ...answer, cached: { kind: 'joined', ageMs: 0 } });
      },
      onLead: (lead) => {
        if (!this.#isFollowing(pending)) {
          lead.abandon();
          return;
        }
        this.#waiting.set(pending, { kind: 'leads', lead, key });
        this.#host.run(pending);
      },
    };
    const stopClock = this.#host.at(pending.deadline, () => {
      const waiting = this.#waiting.get(pending);
      if (waiting?.kind !== 'follows') return;
      this.#leave(pending, waiting);
      const message = 'Cannot answer in time: the deadline passed while another request ran the same input';
      this.#host.settleLater(pending, { ok: false, error: new GimbalError('DEADLINE_EXCEEDED', message) });
    });
    flight.follow(follower);
    this.#waiting.set(pending, { kind: 'follows', flight, follower, stopClock });
  }

  /** Ends the following; false when the work has left it before. */
  #isFollowing(pending: PendingWork): boolean {
    const waiting = this.#waiting.get(pending);
    if (waiting?.kind !== 'follows') return false;
    this.#leave(pending, waiting);
    return true;
  }

  #leave(pending: PendingWork, waiting: Extract<Waiting, { kind: 'follows' }>): void {
    this.#waiting.delete(pending);
    waiting.stopClock();
    waiting.flight.leave(waiting.follower);
  }

  /** An answer of a lower rung serves those who wait for it now, and nobody later. */
  #keep(lead: Lead<WorkDone>, result: WorkDone): void {
    const { answer, bytes } = copyAnswer(result);
    lead.succeed({ value: answer, bytes, keep: result.rung === 0 }, this.#clock.now());
  }

  /** The last good answer, too old or not, where the server is to blame. */
  #staleInstead(key: string, result: Extract<WorkResult, { ok: false }>): WorkResult {
    if (!STALE_IF.has(result.error.code)) return result;
    const stale = this.#cache.stale(key, this.#clock.now());
    if (!stale) return result;
    return {
      ...stale.value,
      degradedBecause: 'stale-answer',
      cached: { kind: 'stale', ageMs: stale.ageMs },
    };
  }
}
