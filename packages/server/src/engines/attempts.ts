import type { Clock, Instant, Random, TensorOutput } from '@gimbal/core';
import { AttemptBudget } from './attempt-budget.ts';
import type { RemoteRequest } from './channel.ts';
import type { Endpoint } from './endpoint.ts';
import { PeerFailure, toPeerFailure } from './peer-failure.ts';
import type { RemoteLimits } from './remote-limits.ts';
import type { Timers } from './timers.ts';

/** Share of answers that are faster than the one that is worth a hedge. */
const HEDGE_RATIO = 0.95;
/** With nothing seen yet, a run may take so many times what the profile foretells … */
const COLD_FACTOR = 10;
/** … and so many times the floor. */
const COLD_FLOORS = 2;
/** A batch larger than the usual ones gets at least so many times what is foretold of it. */
const PREDICTED_FACTOR = 2;

export interface AttemptsOptions {
  readonly endpoints: readonly Endpoint[];
  readonly limits: RemoteLimits;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  /** Attempts of one request, the first included. */
  readonly attempts: number;
  readonly retryRatio: number;
  readonly hedgeRatio: number;
  readonly attemptTimeoutMs: number | undefined;
  /** Whether a request may be run twice. */
  readonly repeatable: boolean;
  /** Whether latencies tell what is usual: not where one answer is a word and the next one a page. */
  readonly steady: boolean;
}

export interface AttemptsRun {
  readonly deadline: Instant;
  readonly predictedMs: number;
  readonly signal: AbortSignal;
}

/** What attempts came to, since the start. */
export interface AttemptCounters {
  requests: number;
  retries: number;
  hedges: number;
  hedgesWon: number;
}

/** A request and what was tried of it. */
interface Course {
  readonly request: RemoteRequest;
  readonly run: AttemptsRun;
  readonly tried: Set<Endpoint>;
}

/**
 * Decides where a request runs, and whether it runs again: of two endpoints taken at random the one with less to do
 * (Mitzenmacher, "The Power of Two Choices in Randomized Load Balancing", 2001); after a failure that another endpoint
 * may not have, there, within the deadline and a budget; where hedging is on, beside an attempt that takes longer than
 * most do.
 */
export class Attempts {
  readonly counters: AttemptCounters = { requests: 0, retries: 0, hedges: 0, hedgesWon: 0 };
  readonly #options: AttemptsOptions;
  readonly #retries: AttemptBudget;
  readonly #hedges: AttemptBudget;

  constructor(options: AttemptsOptions) {
    const { limits, retryRatio, hedgeRatio } = options;
    this.#options = options;
    this.#retries = new AttemptBudget({ ratio: retryRatio, floor: limits.budgetFloor });
    this.#hedges = new AttemptBudget({ ratio: hedgeRatio, floor: 1 });
  }

  /** Rejects with a `PeerFailure`; always before the deadline. */
  async run(request: RemoteRequest, run: AttemptsRun): Promise<readonly TensorOutput[]> {
    this.counters.requests += 1;
    this.#retries.earn();
    this.#hedges.earn();
    const course: Course = { request, run, tried: new Set() };
    let last: PeerFailure | undefined;
    for (let attempt = 0; attempt < this.#options.attempts; attempt += 1) {
      const endpoint = this.#choose(course, last);
      if (endpoint === undefined) break;
      if (last !== undefined) {
        if (!this.#retries.spend()) break;
        this.counters.retries += 1;
      }
      try {
        return await this.#attempt(endpoint, course);
      } catch (error) {
        last = toPeerFailure(error);
        if (!this.#mayRepeat(last, run)) break;
      }
    }
    if (last?.kind === 'silent' && this.#remainingMs(run) <= 0) throw late();
    throw last ?? new PeerFailure('refused', 'no endpoint of the remote engine works now');
  }

  #mayRepeat(failure: PeerFailure, run: AttemptsRun): boolean {
    if (run.signal.aborted || this.#remainingMs(run) <= 0) return false;
    if (failure.kind === 'overloaded') return true;
    if (!failure.elsewhere) return false;
    return this.#options.repeatable || failure.kind === 'unreachable' || failure.kind === 'refused';
  }

  /** Undefined when nobody is left to ask. */
  #choose({ tried }: Course, last: PeerFailure | undefined): Endpoint | undefined {
    const { clock, endpoints } = this.#options;
    const now = clock.now();
    const fresh = endpoints.filter((endpoint) => !tried.has(endpoint));
    if (last?.kind === 'overloaded')
      return this.#lighter(
        fresh.filter((endpoint) => endpoint.isFree(now)),
        now,
      );
    const up = fresh.filter(({ state }) => state.kind === 'up');
    if (up.length > 0) return this.#lighter(up, now);
    return this.#lighter(
      fresh.filter(({ state }) => state.kind === 'suspect'),
      now,
    );
  }

  #lighter(endpoints: readonly Endpoint[], now: Instant): Endpoint | undefined {
    const { random } = this.#options;
    if (endpoints.length < 2) return endpoints[0];
    const first = Math.floor(random.next() * endpoints.length);
    const other = (first + 1 + Math.floor(random.next() * (endpoints.length - 1))) % endpoints.length;
    const one = endpoints[first] as Endpoint;
    const two = endpoints[other] as Endpoint;
    return two.cost(now) < one.cost(now) ? two : one;
  }

  #attempt(endpoint: Endpoint, course: Course): Promise<readonly TensorOutput[]> {
    const remainingMs = this.#remainingMs(course.run);
    if (remainingMs <= 0) return Promise.reject(late());
    course.tried.add(endpoint);
    const hedgeAfterMs =
      this.#options.hedgeRatio > 0 ? endpoint.latencies.quantileMs(HEDGE_RATIO) : undefined;
    if (hedgeAfterMs === undefined || hedgeAfterMs >= remainingMs || !this.#options.repeatable) {
      return this.#once(endpoint, course, course.run.signal);
    }
    return this.#hedged(endpoint, course, hedgeAfterMs);
  }

  /** The first good answer wins; the other attempt is called off. */
  #hedged(endpoint: Endpoint, course: Course, afterMs: number): Promise<readonly TensorOutput[]> {
    return new Promise((resolve, reject) => {
      const calledOff = new AbortController();
      const onAbort = (): void => calledOff.abort();
      course.run.signal.addEventListener('abort', onAbort);
      if (course.run.signal.aborted) onAbort();
      let open = 1;
      const end = (): void => {
        callOffHedge();
        course.run.signal.removeEventListener('abort', onAbort);
        calledOff.abort();
      };
      const follow = (attempt: Promise<readonly TensorOutput[]>, hedge: boolean): void => {
        attempt.then(
          (outputs) => {
            if (hedge && open > 0) this.counters.hedgesWon += 1;
            open = 0;
            end();
            resolve(outputs);
          },
          (error: unknown) => {
            open -= 1;
            if (open > 0) return;
            end();
            reject(error);
          },
        );
      };
      const callOffHedge = this.#options.timers.after(afterMs, () => {
        const second = open === 1 ? this.#choose(course, undefined) : undefined;
        if (second?.state.kind !== 'up' || !this.#hedges.spend()) return;
        open += 1;
        this.counters.hedges += 1;
        course.tried.add(second);
        follow(this.#once(second, course, calledOff.signal), true);
      });
      follow(this.#once(endpoint, course, calledOff.signal), false);
    });
  }

  #once(endpoint: Endpoint, { request, run }: Course, signal: AbortSignal): Promise<readonly TensorOutput[]> {
    const remainingMs = this.#remainingMs(run);
    const usualMs = this.#usualMs(endpoint, run.predictedMs);
    return endpoint.run(request, { remainingMs, usualMs, signal });
  }

  /** How long an attempt may take before it is lost. */
  #usualMs(endpoint: Endpoint, predictedMs: number): number {
    const { attemptTimeoutMs, limits, steady } = this.#options;
    if (attemptTimeoutMs !== undefined) return attemptTimeoutMs;
    if (!steady) return Number.POSITIVE_INFINITY;
    const { timeoutFactor, timeoutFloorMs } = limits;
    const seenMs = endpoint.latencies.quantileMs(HEDGE_RATIO);
    if (seenMs === undefined) return Math.max(COLD_FLOORS * timeoutFloorMs, COLD_FACTOR * predictedMs);
    return Math.max(timeoutFloorMs, timeoutFactor * seenMs, PREDICTED_FACTOR * predictedMs);
  }

  #remainingMs({ deadline }: AttemptsRun): number {
    const { clock, limits } = this.#options;
    return deadline - clock.now() - limits.deadlineMarginMs;
  }
}

function late(): PeerFailure {
  return new PeerFailure('late', 'the deadline passed before the remote engine answered');
}
