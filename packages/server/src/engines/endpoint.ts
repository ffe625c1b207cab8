import type { Clock, Instant, Random, RemoteSpec, Signature, TensorOutput } from '@gimbal/core';
import type { RemoteChannel, RemoteDescription, RemoteRequest } from './channel.ts';
import { EndpointHealth, type EndpointState } from './endpoint-health.ts';
import { LatencyWindow } from './latency-window.ts';
import { PeerFailure, toPeerFailure } from './peer-failure.ts';
import type { RemoteLimits } from './remote-limits.ts';
import { zeroRequest } from './run-inputs.ts';
import { checkOutputs } from './run-outputs.ts';
import type { CallOff, Timers } from './timers.ts';

/** Weight of the newest latency in the mean that endpoints are compared by. */
const LEARNING_RATIO = 0.1;
/** What is known of an endpoint that nobody asks any more gets old: its mean halves in this time, until it is tried again. */
const FORGET_MS = 2_000;
/** An endpoint that said it has too much to do is left alone for so long, when others can be had. */
const MAX_COOL_OFF_MS = 1_000;
/** Waited so many times the usual latency, a batch is lost even if only its deadline ended it. */
const LOST_FACTOR = 3;

export interface EndpointOptions {
  readonly address: string;
  readonly channel: RemoteChannel;
  readonly spec: RemoteSpec;
  readonly limits: RemoteLimits;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  /** Whether runs of our own may be made there: not where they are paid for. */
  readonly trials: boolean;
}

export interface EndpointEvents {
  /** What the server says of its model: whether it fits, and if not why. Asked before the endpoint's first batch. */
  accept(told: RemoteDescription | undefined): { signature: Signature } | { wrong: string };
  onStateChanged(endpoint: Endpoint): void;
}

/** One endpoint, for operators. */
export interface EndpointView {
  readonly address: string;
  readonly state: EndpointState['kind'];
  /** Why it is out. */
  readonly because: string | undefined;
  readonly inFlight: number;
  readonly p50Ms: number | undefined;
  readonly p95Ms: number | undefined;
  /** Attempts since the start, and how many of them failed. */
  readonly attempts: number;
  readonly failures: number;
  readonly breaker: 'closed' | 'open' | 'half-open';
}

export interface EndpointRun {
  /** By the deadline, in ms. */
  readonly remainingMs: number;
  /** By what is usual, in ms. */
  readonly usualMs: number;
  readonly signal: AbortSignal;
}

/** One server of a remote engine: what runs there, how it does, and whether it may get more. */
export class Endpoint {
  readonly address: string;
  readonly latencies = new LatencyWindow();
  inFlight = 0;
  readonly #options: EndpointOptions;
  readonly #events: EndpointEvents;
  readonly #health: EndpointHealth;
  /** Mean latency, in ms. */
  #meanMs = 0;
  #answeredAt: Instant = 0;
  #attempts = 0;
  #failures = 0;
  #coolUntil: Instant = Number.NEGATIVE_INFINITY;
  /** A first answer, good or bad, has come. */
  #tried = false;
  #probing = false;
  #closed = false;
  #callOff: CallOff | undefined;
  readonly #closing = new AbortController();

  constructor(options: EndpointOptions, events: EndpointEvents) {
    const { spec, limits, random } = options;
    this.address = options.address;
    this.#options = options;
    this.#events = events;
    this.#health = new EndpointHealth({
      probeIntervalMs: spec.probeIntervalMs,
      firstBackOffMs: limits.firstBackOffMs,
      maxBackOffMs: limits.maxBackOffMs,
      random,
    });
  }

  get state(): EndpointState {
    return this.#health.state;
  }

  get tried(): boolean {
    return this.#tried;
  }

  get channel(): RemoteChannel {
    return this.#options.channel;
  }

  get view(): EndpointView {
    const { state } = this.#health;
    return {
      address: this.address,
      state: state.kind,
      because: state.kind === 'out' ? state.because : undefined,
      inFlight: this.inFlight,
      p50Ms: this.latencies.quantileMs(0.5),
      p95Ms: this.latencies.quantileMs(0.95),
      attempts: this.#attempts,
      failures: this.#failures,
      breaker: state.kind === 'out' ? (this.#probing ? 'half-open' : 'open') : 'closed',
    };
  }

  start(): void {
    this.#schedule();
  }

  close(): void {
    this.#closed = true;
    this.#callOff?.();
    this.#closing.abort();
    this.channel.close();
  }

  /** Cost of one more batch here, to be compared with others': what is in flight by how long it takes. */
  cost(now: Instant): number {
    const cool = now < this.#coolUntil ? MAX_COOL_OFF_MS : 0;
    const meanMs = this.#meanMs * 2 ** ((this.#answeredAt - now) / FORGET_MS);
    return (this.inFlight + 1) * Math.max(meanMs, 1e-3) + cool;
  }

  /** Idle, and not known to have too much to do. */
  isFree(now: Instant): boolean {
    return this.state.kind === 'up' && this.inFlight === 0 && now >= this.#coolUntil;
  }

  /** Runs a request here once; its outputs are checked. Rejects with a `PeerFailure`. */
  async run(request: RemoteRequest, run: EndpointRun): Promise<readonly TensorOutput[]> {
    const startedAt = this.#now();
    const timeoutMs = Math.min(run.remainingMs, run.usualMs);
    this.inFlight += 1;
    this.#attempts += 1;
    try {
      const answer = await this.#bounded(timeoutMs, run.signal, (signal) =>
        this.channel.run(request, { timeoutMs: run.remainingMs, signal }),
      );
      const outputs = checkOutputs(answer, request.signature, request.rows);
      this.#succeeded(startedAt);
      return outputs;
    } catch (error) {
      const failure = this.#inTime(toPeerFailure(error), run, startedAt);
      this.#failed(failure, startedAt);
      throw failure;
    } finally {
      this.inFlight -= 1;
    }
  }

  /** A call that ends by itself, by its time or by the wish of its caller. */
  async #bounded<T>(
    timeoutMs: number,
    signal: AbortSignal,
    call: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const controller = new AbortController();
    let late = false;
    const abort = (): void => controller.abort();
    const callOff = this.#options.timers.after(timeoutMs, () => {
      late = true;
      abort();
    });
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort();
    try {
      return await call(controller.signal);
    } catch (error) {
      if (!late) throw error;
      throw new PeerFailure('silent', `the remote engine did not answer within ${Math.round(timeoutMs)} ms`);
    } finally {
      callOff();
      signal.removeEventListener('abort', abort);
    }
  }

  /** A batch that only had too little time left says nothing of the endpoint. */
  #inTime(failure: PeerFailure, run: EndpointRun, startedAt: Instant): PeerFailure {
    if (failure.kind !== 'silent' || run.remainingMs >= run.usualMs) return failure;
    const usualMs = this.latencies.quantileMs(0.95);
    if (usualMs !== undefined && this.#now() - startedAt >= LOST_FACTOR * usualMs) return failure;
    return new PeerFailure('late', 'the deadline passed before the remote engine answered', {
      cause: failure,
    });
  }

  #succeeded(startedAt: Instant): void {
    this.#answeredAt = this.#now();
    const latencyMs = this.#answeredAt - startedAt;
    this.latencies.add(latencyMs);
    this.#meanMs =
      this.#meanMs === 0 ? latencyMs : this.#meanMs + LEARNING_RATIO * (latencyMs - this.#meanMs);
    this.#changing(() => this.#health.succeeded(startedAt));
  }

  #failed(failure: PeerFailure, startedAt: Instant): void {
    if (failure.kind === 'aborted' || failure.kind === 'input') return;
    this.#failures += 1;
    const now = this.#now();
    if (failure.kind === 'overloaded') {
      this.#coolUntil = now + Math.min(failure.retryAfterMs ?? MAX_COOL_OFF_MS, MAX_COOL_OFF_MS);
    }
    if (!failure.counts) return;
    const { lost, message } = failure;
    this.#changing(() => this.#health.failed({ startedAt, lost, because: message }, now));
  }

  #changing(change: () => void): void {
    const before = this.state.kind;
    change();
    if (this.state.kind === before) return;
    if (this.state.kind !== 'up') this.#schedule();
    this.#events.onStateChanged(this);
  }

  #schedule(): void {
    if (this.#closed || this.#probing) return;
    this.#callOff?.();
    const delayMs = Math.max(0, this.#health.nextProbeAt - this.#now());
    this.#callOff = this.#options.timers.after(delayMs, () => void this.#probe());
  }

  async #probe(): Promise<void> {
    if (this.#closed || this.#probing) return;
    this.#probing = true;
    this.#health.probing(this.#now());
    const { kind } = this.state;
    let failure: PeerFailure | undefined;
    try {
      await this.#ask(kind === 'unknown' || kind === 'out');
    } catch (error) {
      failure = toPeerFailure(error);
    }
    this.#probing = false;
    if (this.#closed) return;
    const before = this.state.kind;
    const now = this.#now();
    if (failure === undefined) this.#health.probed(now);
    else if (failure instanceof UnfitModel) this.#health.unfit(failure.message, now);
    else this.#health.probeFailed(failure.message, now);
    const first = !this.#tried;
    this.#tried = true;
    this.#schedule();
    if (first || this.state.kind !== before) this.#events.onStateChanged(this);
  }

  /** Whether it is ready; for one that got no batches until now, also whether it does what it says. */
  async #ask(trial: boolean): Promise<void> {
    const { spec, limits, trials } = this.#options;
    const probeMs = spec.probeTimeoutMs;
    const { signal } = this.#closing;
    await this.#bounded(probeMs, signal, (bound) =>
      this.channel.probe({ timeoutMs: probeMs, signal: bound }),
    );
    if (!trial) return;
    const trialMs = limits.trialTimeoutMs;
    const told = await this.#bounded(trialMs, signal, (bound) =>
      this.channel.describe({ timeoutMs: trialMs, signal: bound }),
    );
    const accepted = this.#events.accept(told);
    if ('wrong' in accepted) throw new UnfitModel('refused', accepted.wrong);
    const request = trials ? zeroRequest(accepted.signature, 1) : undefined;
    if (request) await this.trial(request);
  }

  /**
   * A run of our own, with inputs of zeros. `lenient`: whatever the model thinks of zeros, an answer is an answer;
   * `strict`: it must have run.
   */
  async trial(request: RemoteRequest, mode: 'lenient' | 'strict' = 'lenient'): Promise<void> {
    const { trialTimeoutMs } = this.#options.limits;
    try {
      const answer = await this.#bounded(trialTimeoutMs, this.#closing.signal, (signal) =>
        this.channel.run(request, { timeoutMs: trialTimeoutMs, signal }),
      );
      checkOutputs(answer, request.signature, request.rows);
    } catch (error) {
      const failure = toPeerFailure(error);
      if (mode === 'strict' || (failure.kind !== 'input' && failure.kind !== 'overloaded')) throw failure;
    }
  }

  #now(): Instant {
    return this.#options.clock.now();
  }
}

/** The server works, but not with this model. */
class UnfitModel extends PeerFailure {}
