import type { Instant, Random } from '@gimbal/core';

export interface EndpointHealthOptions {
  readonly probeIntervalMs: number;
  readonly firstBackOffMs: number;
  readonly maxBackOffMs: number;
  readonly random: Random;
}

/**
 * `unknown`: never answered yet. `up`: takes batches. `suspect`: a batch was lost there, it is being asked whether it
 * lives and gets batches only when nobody else can have them. `out`: takes none until it has passed a trial.
 */
export type EndpointState =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'up' }
  | { readonly kind: 'suspect'; readonly since: Instant }
  | { readonly kind: 'out'; readonly since: Instant; readonly because: string };

/** So many lost batches in a row and it is out, whatever it says of itself when asked. */
const MAX_LOST_IN_A_ROW = 3;
/** Of the latest calls … */
const WINDOW_CALLS = 20;
/** … when at least so many were seen … */
const MIN_CALLS = 10;
/** … and this share of them failed, it is out. */
const MAX_FAILED_RATIO = 0.5;

/**
 * Decides what: whether an endpoint gets batches, and when it is asked for its health.
 *
 * Why this design: a server that is frozen keeps its connections and answers nothing, so neither connections nor error
 * rates tell it; a batch that is lost in time does, and one question with a short limit settles it, before other batches
 * are lost there too. A server that says it is ready while its batches fail is found by the batches. What comes back
 * must pass a trial of our own first: no caller's batch is the probe.
 *
 * Transitions: first good answer → up · up, a lost batch → suspect, asked at once · suspect, a good answer → up ·
 * suspect, a failed probe → out · up, two failed probes in a row → out · too many lost or failed batches → out ·
 * out, a passed trial → up.
 * Cold start: unknown; the first failed probe → out. Recovery: trials after a back-off that doubles, with jitter.
 * Not counted: refusals for overload, inputs that are at fault, batches that were called off, answers to batches that
 * began before the endpoint went out.
 */
export class EndpointHealth {
  readonly #options: EndpointHealthOptions;
  #state: EndpointState = { kind: 'unknown' };
  #nextProbeAt: Instant = Number.NEGATIVE_INFINITY;
  #failedProbes = 0;
  #failedTrials = 0;
  #lostInARow = 0;
  /** Latest calls, true for a failure. */
  #calls: boolean[] = [];

  constructor(options: EndpointHealthOptions) {
    this.#options = options;
  }

  get state(): EndpointState {
    return this.#state;
  }

  get nextProbeAt(): Instant {
    return this.#nextProbeAt;
  }

  /** A batch that began at an instant was answered. */
  succeeded(startedAt: Instant): void {
    if (this.#isStale(startedAt)) return;
    this.#lostInARow = 0;
    this.#count(false);
    if (this.#state.kind === 'suspect') this.#state = { kind: 'up' };
  }

  /** A batch that began at an instant came to nothing; `lost`: without any answer. */
  failed(call: { startedAt: Instant; lost: boolean; because: string }, now: Instant): void {
    if (this.#isStale(call.startedAt) || this.#state.kind === 'out') return;
    this.#count(true);
    if (call.lost) this.#lostInARow += 1;
    const failures = this.#calls.filter(Boolean).length;
    const tooMany = this.#calls.length >= MIN_CALLS && failures >= this.#calls.length * MAX_FAILED_RATIO;
    if (tooMany || this.#lostInARow >= MAX_LOST_IN_A_ROW) this.#leave(call.because, now);
    else if (call.lost && this.#state.kind === 'up') {
      this.#state = { kind: 'suspect', since: now };
      this.#nextProbeAt = now;
    }
  }

  /** A probe has begun: the next one is due after this. */
  probing(now: Instant): void {
    this.#nextProbeAt = now + this.#options.probeIntervalMs;
  }

  /** A probe, or the trial of an endpoint that was out, went well. */
  probed(now: Instant): void {
    this.#failedProbes = 0;
    this.#nextProbeAt = now + this.#options.probeIntervalMs;
    if (this.#state.kind === 'out' || this.#state.kind === 'unknown') {
      this.#calls = [];
      this.#lostInARow = 0;
      this.#failedTrials = 0;
    }
    this.#state = { kind: 'up' };
  }

  probeFailed(because: string, now: Instant): void {
    const { kind } = this.#state;
    this.#failedProbes += 1;
    if (kind === 'out') this.#backOff(now);
    else if (kind === 'up' && this.#failedProbes < 2) {
      this.#nextProbeAt = now;
    } else this.#leave(because, now);
  }

  /** It can't be used, whatever it answers: it serves another model. */
  unfit(because: string, now: Instant): void {
    this.#leave(because, now);
  }

  #leave(because: string, now: Instant): void {
    this.#state = { kind: 'out', since: now, because };
    this.#backOff(now);
  }

  #backOff(now: Instant): void {
    const { firstBackOffMs, maxBackOffMs, random } = this.#options;
    const limitMs = Math.min(maxBackOffMs, firstBackOffMs * 2 ** Math.min(this.#failedTrials, 30));
    this.#failedTrials += 1;
    // At least half of it: a probe of something broken is no use at once.
    this.#nextProbeAt = now + limitMs * (0.5 + random.next() / 2);
  }

  #isStale(startedAt: Instant): boolean {
    return this.#state.kind === 'out' && startedAt <= this.#state.since;
  }

  #count(failed: boolean): void {
    this.#calls.push(failed);
    if (this.#calls.length > WINDOW_CALLS) this.#calls.shift();
  }
}
