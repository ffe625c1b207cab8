import type { Random } from '../../base/random.ts';
import type { Instant } from '../../base/time.ts';
import type { BreakerWeight } from '../../errors/registry.ts';
import { FailureWindow } from './failure-window.ts';
import { type BreakerOptions, DEFAULT_BREAKER_OPTIONS } from './options.ts';

/** `closed` is healthy, always. */
export type BreakerState =
  | { readonly kind: 'closed' }
  | { readonly kind: 'open'; readonly probeAt: Instant; readonly openMs: number }
  | {
      readonly kind: 'half-open';
      readonly openMs: number;
      /** Probes that were answered well, in a row. */
      readonly passed: number;
      /** When the probe under way counts as failed; undefined while there is none. */
      readonly probeEndsAt: Instant | undefined;
    };

export interface BreakerTransition {
  readonly at: Instant;
  readonly from: BreakerState['kind'];
  readonly to: BreakerState['kind'];
  readonly because: string;
}

/** Which life of the breaker a call or a probe belongs to: what comes back from an earlier one changes nothing. */
export type BreakerTicket = number;

/**
 * Decides what: whether calls may go to a target (a variant, a device, a remote engine) that has failed a lot lately.
 *
 * Why this design: only what the error registry calls hard counts, so neither a user's bad input nor our own refusals
 * open it, and slowness pushes the ladder instead. The window turns with the clock: two failures in an idle minute are
 * not a trend. Users' calls are never probes: while it is not closed they go elsewhere, and golden inputs of our own find
 * out, one at a time, each with a time limit, so that a probe that hangs blocks nobody.
 *
 * Transitions: closed → open, by hard failures in a row, or by their share of enough calls · open → half-open by time,
 * with back-off and jitter · half-open → closed after `probes` good ones in a row · half-open → open, for twice as long,
 * by a probe that failed or hung.
 * Cold start: closed. Recovery: by probes alone.
 * Not counted: soft failures and other outcomes, refusals of our own, and whatever belongs to an earlier life.
 */
export class Breaker {
  readonly #options: BreakerOptions;
  readonly #random: Random;
  readonly #window: FailureWindow;
  readonly #history: BreakerTransition[] = [];
  #state: BreakerState = { kind: 'closed' };
  #life: BreakerTicket = 0;
  #inARow = 0;

  constructor(random: Random, options: Partial<BreakerOptions> = {}) {
    this.#random = random;
    this.#options = { ...DEFAULT_BREAKER_OPTIONS, ...options };
    this.#window = new FailureWindow(this.#options.windowMs);
  }

  /** Newest last. */
  get history(): readonly BreakerTransition[] {
    return this.#history;
  }

  state(now: Instant): BreakerState {
    this.#pass(now);
    return this.#state;
  }

  /** Whether users' calls go to the target. */
  allows(now: Instant): boolean {
    return this.state(now).kind === 'closed';
  }

  /** When it wants to be asked for a probe again; undefined while it is healthy. */
  dueAt(now: Instant): Instant | undefined {
    const state = this.state(now);
    switch (state.kind) {
      case 'closed':
        return undefined;
      case 'open':
        return state.probeAt;
      case 'half-open':
        return state.probeEndsAt ?? now;
    }
  }

  /** For a call that starts now, to be given back with its outcome. */
  get ticket(): BreakerTicket {
    return this.#life;
  }

  /** A call that started with this ticket has ended: undefined for one that was answered. */
  ended(ticket: BreakerTicket, failure: BreakerWeight | undefined, now: Instant): void {
    this.#pass(now);
    if (ticket !== this.#life || this.#state.kind !== 'closed') return;
    const isHard = failure === 'hard';
    if (failure !== undefined && !isHard) return;
    this.#window.record(isHard, now);
    this.#inARow = isHard ? this.#inARow + 1 : 0;
    if (!isHard) return;
    const { consecutive, minCalls, failureRatio, openMs } = this.#options;
    const { calls, failures } = this.#window.totals(now);
    if (this.#inARow >= consecutive) this.#open(openMs, `${this.#inARow} failures in a row`, now);
    else if (calls >= Math.max(1, minCalls) && failures / calls >= failureRatio) {
      this.#open(openMs, `${failures} of ${calls} calls failed`, now);
    }
  }

  /** The right to send one golden input; undefined while none is due, or one is under way. */
  takeProbe(now: Instant): BreakerTicket | undefined {
    this.#pass(now);
    const state = this.#state;
    if (state.kind !== 'half-open' || state.probeEndsAt !== undefined) return undefined;
    this.#life += 1;
    this.#state = { ...state, probeEndsAt: now + this.#options.probeTimeoutMs };
    return this.#life;
  }

  /** The probe of this ticket has ended. */
  probed(ticket: BreakerTicket, isGood: boolean, now: Instant): void {
    this.#pass(now);
    const state = this.#state;
    if (ticket !== this.#life || state.kind !== 'half-open' || state.probeEndsAt === undefined) return;
    if (!isGood) {
      this.#openLonger(state.openMs, 'a probe failed', now);
      return;
    }
    const passed = state.passed + 1;
    if (passed < this.#options.probes) this.#state = { ...state, passed, probeEndsAt: undefined };
    else this.#close(`${passed} probes were answered`, now);
  }

  /** What is due by time alone. */
  #pass(now: Instant): void {
    const state = this.#state;
    if (state.kind === 'open' && now >= state.probeAt) {
      const next = { kind: 'half-open', openMs: state.openMs, passed: 0, probeEndsAt: undefined } as const;
      this.#enter(next, 'it was open long enough', now);
    } else if (state.kind === 'half-open' && state.probeEndsAt !== undefined && now >= state.probeEndsAt) {
      this.#openLonger(state.openMs, 'a probe had no answer in time', now);
    }
  }

  #openLonger(openMs: number, because: string, now: Instant): void {
    this.#open(Math.min(this.#options.maxOpenMs, openMs * 2), because, now);
  }

  /** At least half of the time, so that a target that is down isn't asked again at once. */
  #open(openMs: number, because: string, now: Instant): void {
    const probeAt = now + openMs * (0.5 + this.#random.next() / 2);
    this.#enter({ kind: 'open', probeAt, openMs }, because, now);
  }

  #close(because: string, now: Instant): void {
    this.#enter({ kind: 'closed' }, because, now);
  }

  #enter(next: BreakerState, because: string, at: Instant): void {
    this.#history.push({ at, from: this.#state.kind, to: next.kind, because });
    if (this.#history.length > this.#options.maxHistory) this.#history.shift();
    this.#state = next;
    this.#life += 1;
    this.#inARow = 0;
    this.#window.clear();
  }
}
