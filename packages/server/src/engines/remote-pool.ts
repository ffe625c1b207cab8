import {
  assert,
  type BatchJob,
  type Clock,
  type CostProfile,
  GimbalError,
  type Instant,
  isGimbalError,
  type PoolEvents,
  type Random,
  type RemoteSpec,
  type RunnerPool,
  type RunnerReady,
  type RunnerView,
  type Signature,
  type VersionSpec,
} from '@gimbal/core';
import type { Arena } from '../transport/arena.ts';
import { type AttemptCounters, Attempts } from './attempts.ts';
import type { ChannelFactory, RemoteDescription } from './channel.ts';
import { Concurrency } from './concurrency.ts';
import { channelsOf } from './create-channel.ts';
import { readCredentials } from './credentials.ts';
import { confirmSignature, isSameModel } from './description.ts';
import { Endpoint, type EndpointView } from './endpoint.ts';
import { createAnswerWriter } from './remote-answer.ts';
import { RemoteBatch, type RemoteBatchOptions } from './remote-batch.ts';
import { DEFAULT_REMOTE_LIMITS, type RemoteLimits } from './remote-limits.ts';
import { RemoteSlots, retired } from './remote-slots.ts';
import { zeroRequest } from './run-inputs.ts';
import { type CallOff, systemTimers, type Timers } from './timers.ts';
import { wireProfile } from './wire-profile.ts';

export interface RemotePoolOptions {
  readonly spec: VersionSpec;
  /** Index of the variant in `spec.variants`; it has `remote`. */
  readonly variant: number;
  /** The version's memory, which inputs are in. */
  readonly arena: Pick<Arena, 'bytes'>;
  readonly events: PoolEvents;
  readonly clock: Clock;
  readonly random: Random;
  /** Where secrets of headers are found. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** An endpoint came, went or was suspected; for the log. */
  readonly onEndpoint?: (view: EndpointView) => void;
  readonly limits?: Partial<RemoteLimits>;
  readonly timers?: Timers;
  /** Default: by the protocol of the version. */
  readonly channels?: ChannelFactory;
}

/** The pool of a variant that someone else's server runs. */
export interface RemotePool extends RunnerPool {
  /** Each endpoint as it is now, for operators. */
  readonly endpoints: readonly EndpointView[];
  readonly counters: Readonly<AttemptCounters>;
  cancel(batchId: number): void;
}

/** What is known once the first endpoint has been accepted. */
interface Served {
  readonly ready: RunnerReady;
  readonly batch: RemoteBatchOptions;
}

/** Of a run nothing is known but that it goes over a network. */
const GUESSED_MS = 10;
/** Rows in one request where batching was asked for and could not be measured. */
const GUESSED_ROWS = 8;

/** Runs a variant at remote endpoints. Its runners are slots: each stands for one batch at a time. */
export function createRemotePool(options: RemotePoolOptions): RemotePool {
  return new EndpointPool(options);
}

class EndpointPool implements RemotePool {
  readonly #options: RemotePoolOptions;
  readonly #spec: RemoteSpec;
  readonly #limits: RemoteLimits;
  readonly #timers: Timers;
  readonly #slots: RemoteSlots;
  readonly #concurrency: Concurrency;
  #endpoints: readonly Endpoint[] = [];
  #attempts: Attempts | undefined;
  /** Set by the first endpoint whose model fits. */
  #signature: Signature | undefined;
  #served: Served | undefined;
  #profiling = false;
  #startedAt: Instant = 0;
  #reviewedAt: Instant = Number.NEGATIVE_INFINITY;
  #fault: GimbalError | undefined;
  #stopping = false;
  #stopped: Promise<void> | undefined;
  #onStopped: (() => void) | undefined;
  #callOffKill: CallOff | undefined;

  constructor(options: RemotePoolOptions) {
    const variant = options.spec.variants[options.variant];
    assert(variant?.remote, 'the variant runs at a remote engine');
    this.#options = options;
    this.#spec = variant.remote;
    this.#limits = { ...DEFAULT_REMOTE_LIMITS, ...options.limits };
    this.#timers = options.timers ?? systemTimers;
    this.#slots = new RemoteSlots(variant.name, options.events);
    this.#concurrency = new Concurrency(variant.remote);
  }

  get views(): readonly RunnerView[] {
    const { views } = this.#slots;
    if (views.length > 0 || this.#stopping) return views;
    const state = this.#fault === undefined ? 'loading' : 'faulted';
    const idle = { pid: undefined, device: 'remote', restarts: 0, batches: 0, residentBytes: 0 } as const;
    return [{ id: 'remote', state, transport: 'socket', ...idle }];
  }

  get endpoints(): readonly EndpointView[] {
    return this.#endpoints.map(({ view }) => view);
  }

  get counters(): Readonly<AttemptCounters> {
    return this.#attempts?.counters ?? { requests: 0, retries: 0, hedges: 0, hedgesWon: 0 };
  }

  start(): void {
    assert(this.#endpoints.length === 0 && !this.#stopping, 'a pool is started once');
    this.#startedAt = this.#now();
    let channels: ChannelFactory;
    try {
      channels = this.#options.channels ?? this.#channels();
    } catch (error) {
      const fault = isGimbalError(error) ? error : unusable('its settings can not be used', error);
      this.#later(() => this.#tellFault(fault));
      return;
    }
    this.#endpoints = this.#spec.endpoints.map((address) => this.#createEndpoint(address, channels));
    const { attempts, retryRatio, hedgeRatio, attemptTimeoutMs } = this.#spec;
    this.#attempts = new Attempts({
      endpoints: this.#endpoints,
      limits: this.#limits,
      clock: this.#options.clock,
      timers: this.#timers,
      random: this.#options.random,
      attempts,
      retryRatio,
      hedgeRatio,
      attemptTimeoutMs,
      repeatable: this.#options.spec.repeatable,
      steady: this.#spec.protocol !== 'openai-chat',
    });
    for (const endpoint of this.#endpoints) endpoint.start();
  }

  run(id: string, job: BatchJob, predictedMs: number, latestDeadline?: Instant): void {
    const slot = this.#slots.find(id);
    const served = this.#served;
    assert(slot?.state === 'ready' && served, 'batches go to runners that are ready, and have none');
    const controller = new AbortController();
    this.#concurrency.sending(this.#slots.busy);
    slot.state = 'busy';
    slot.batch = { id: job.id, controller };
    slot.batches += 1;
    const deadline = latestDeadline ?? this.#now() + this.#options.spec.deadlineMs;
    const batch = new RemoteBatch(served.batch, job, { deadline, predictedMs, signal: controller.signal });
    const rows = job.parts.reduce((sum, part) => sum + part.rows, 0);
    void batch.report(job).then((report) => {
      this.#learn(batch, { rows, predictedMs });
      this.#slots.report(slot, report);
      this.#review();
      this.#finishStop();
    });
  }

  cancel(batchId: number): void {
    this.#slots.withBatch(batchId)?.batch?.controller.abort();
  }

  kill(id: string, error: GimbalError): void {
    const slot = this.#slots.find(id);
    if (!slot) return;
    slot.batch?.controller.abort();
    this.#later(() => {
      this.#slots.lose(slot, error);
      this.#review(true);
      this.#finishStop();
    });
  }

  stop(graceMs: number): Promise<void> {
    this.#callOffKill?.();
    const outOfGrace = new GimbalError(
      'DRAINING',
      'Cannot answer: the server stopped before the remote engine had answered',
    );
    this.#callOffKill = this.#timers.after(graceMs, () => {
      this.#slots.loseAll(outOfGrace);
      this.#finishStop();
    });
    this.#stopped ??= new Promise((resolve) => {
      this.#onStopped = resolve;
      this.#stopping = true;
      this.#later(() => {
        this.#slots.retireAll(new GimbalError('DRAINING', 'Cannot answer: the server is shutting down'));
        this.#finishStop();
      });
    });
    return this.#stopped;
  }

  #finishStop(): void {
    if (!this.#stopping || this.#slots.size > 0) return;
    this.#callOffKill?.();
    for (const endpoint of this.#endpoints) endpoint.close();
    this.#onStopped?.();
  }

  #channels(): ChannelFactory {
    const credentials = readCredentials(this.#spec, this.#options.environment);
    return channelsOf(this.#spec, { credentials, timers: this.#timers, clock: this.#options.clock });
  }

  #createEndpoint(address: string, channels: ChannelFactory): Endpoint {
    const { clock, random } = this.#options;
    return new Endpoint(
      {
        address,
        channel: channels(address),
        spec: this.#spec,
        limits: this.#limits,
        clock,
        random,
        timers: this.#timers,
        trials: this.#measures,
      },
      {
        accept: (told) => this.#accept(told),
        onStateChanged: (endpoint) => this.#onEndpointChanged(endpoint),
      },
    );
  }

  /** Runs of our own cost nothing but time, except where tokens are paid for. */
  get #measures(): boolean {
    return this.#spec.protocol === 'v2-rest' || this.#spec.protocol === 'v2-grpc';
  }

  /** The first endpoint decides what is served; all others must serve the same. */
  #accept(told: RemoteDescription | undefined): { signature: Signature } | { wrong: string } {
    if (this.#signature) {
      if (isSameModel(this.#signature, told)) return { signature: this.#signature };
      return { wrong: 'the endpoint serves other tensors than the first one' };
    }
    const confirmed = confirmSignature(this.#options.spec, told);
    if (typeof confirmed === 'string') return { wrong: confirmed };
    this.#signature = confirmed;
    return { signature: confirmed };
  }

  #onEndpointChanged(endpoint: Endpoint): void {
    if (this.#stopping) return;
    this.#options.onEndpoint?.(endpoint.view);
    if (endpoint.state.kind === 'up' && !this.#served && !this.#profiling) void this.#begin(endpoint);
    this.#review(true);
  }

  /** The first endpoint works: what a run costs there is measured, then slots open. */
  async #begin(endpoint: Endpoint): Promise<void> {
    this.#profiling = true;
    if (this.#signature) {
      const profile = await this.#profile(endpoint, this.#signature);
      this.#served = this.#serve(this.#signature, profile);
    }
    this.#profiling = false;
    if (this.#stopping) return;
    this.#review(true);
  }

  async #profile(endpoint: Endpoint, signature: Signature): Promise<CostProfile> {
    const { maxSize } = this.#options.spec.batching;
    const maxRows = signature.batchAxis === 'none' ? 1 : maxSize === 'auto' ? GUESSED_ROWS * 4 : maxSize;
    const bestRows = Math.min(GUESSED_ROWS, maxRows);
    const guess = { fixedMs: GUESSED_MS, perRowMs: 0, points: [], bestRows };
    if (!this.#measures) return guess;
    return wireProfile(
      {
        maxRows,
        budgetMs: this.#limits.profileBudgetMs,
        now: () => this.#now(),
        run: (rows) => {
          const request = zeroRequest(signature, rows);
          return request ? endpoint.trial(request, 'strict') : Promise.reject(new Error('too large'));
        },
      },
      guess,
    );
  }

  #serve(signature: Signature, profile: CostProfile): Served {
    const { arena, spec } = this.#options;
    const attempts = this.#attempts;
    assert(attempts, 'endpoints have been started');
    return {
      ready: { signature, profile, device: 'remote', loadMs: this.#now() - this.#startedAt },
      batch: {
        attempts,
        arena,
        signature,
        answers: createAnswerWriter({ ...spec, signature }),
        now: () => this.#now(),
      },
    };
  }

  /** What a batch took beyond its own cost is what it waited there. */
  #learn(batch: RemoteBatch, { rows, predictedMs }: { rows: number; predictedMs: number }): void {
    const now = this.#now();
    if (batch.overloaded) this.#concurrency.refused(now);
    if (batch.failed || !this.#served) return;
    const { profile, signature } = this.#served.ready;
    const fixedShapes = signature.inputs.every(({ shape }) => shape.slice(1).every((length) => length >= 0));
    const alone = profile.fixedMs + profile.perRowMs * rows;
    this.#concurrency.waited(batch.inferMs - (fixedShapes ? alone : Math.max(alone, predictedMs)), now);
  }

  /** Brings slots and fault to what the endpoints are. */
  #review(atOnce = false): void {
    if (this.#stopping) return;
    const now = this.#now();
    if (!atOnce && now - this.#reviewedAt < this.#limits.slotReviewMs) return;
    this.#reviewedAt = now;
    const working = this.#endpoints.filter(({ state }) => state.kind === 'up' || state.kind === 'suspect');
    const served = this.#served;
    const batchMs = served ? served.ready.profile.fixedMs + served.ready.profile.perRowMs : 0;
    this.#concurrency.shape({ endpoints: working.length, batchMs });
    if (working.length === 0) {
      if (this.#endpoints.every(({ tried }) => tried)) this.#outage();
    } else if (served) {
      this.#slots.resize(this.#concurrency.slots, served.ready, retired());
      this.#tellFault(undefined);
    }
  }

  #outage(): void {
    const reasons = this.#endpoints.map(({ state }) => (state.kind === 'out' ? state.because : ''));
    const because = reasons.find((reason) => reason !== '') ?? 'no endpoint answers';
    const count = this.#endpoints.length;
    const who = count === 1 ? 'its endpoint is out' : `all ${count} endpoints are out`;
    const fault = unusable(`${who}: ${because}`);
    this.#slots.retireAll(fault);
    this.#tellFault(fault);
  }

  #tellFault(fault: GimbalError | undefined): void {
    if ((fault === undefined) === (this.#fault === undefined)) return;
    this.#fault = fault;
    this.#options.events.onFault(fault);
  }

  /** Events never come inside a call to the pool. */
  #later(then: () => void): void {
    void Promise.resolve().then(then);
  }

  #now(): Instant {
    return this.#options.clock.now();
  }
}

function unusable(what: string, cause?: unknown): GimbalError {
  return new GimbalError('MODEL_UNAVAILABLE', `Cannot use the remote engine: ${what}`, { cause });
}
