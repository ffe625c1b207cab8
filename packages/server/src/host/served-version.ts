import {
  type AnswerCache,
  type Arrival,
  type BatchReport,
  type CallContext,
  type Clock,
  type CostProfile,
  type Criticality,
  type DecisionObserver,
  type DecisionSituation,
  GimbalError,
  type Instant,
  type LadderReport,
  NEVER,
  type PoolEvents,
  type QualityDemand,
  type RunnerPlace,
  type RunnerPool,
  type RunnerReady,
  toGimbalError,
  type VariantSpec,
  type VersionSpec,
  type VersionState,
  type VersionStatistics,
  type VersionView,
  Work,
  type WorkDone,
  type WorkResult,
} from '@gimbal/core';
import type { Arena } from '../transport/arena.ts';
import { AnswerMemory } from './answer-memory.ts';
import { type CallTarget, HostCall, type PendingWork } from './call.ts';
import type { DispatchedVersion, Dispatcher, WorkEnd } from './dispatcher.ts';
import { ladderReport } from './ladder-report.ts';
import type { LoadGate } from './load-gate.ts';
import type { PoisonGuard } from './poison-guard.ts';
import { RequestCosts } from './request-costs.ts';
import { VersionCounters } from './version-counters.ts';
import { VersionDecisions } from './version-decisions.ts';

/** After the last work, outputs may still be on their way to slow clients: the arena is unmapped when they are done. */
const ARENA_CHECK_MS = 100;

/** Makes the runners of one variant. */
export type PoolFactory = (request: {
  spec: VersionSpec;
  variant: VariantSpec;
  rung: number;
  arena: Arena;
  events: PoolEvents;
}) => RunnerPool;

/** What happened to the runners of a version, for the log. */
export type RunnerNotice =
  | { readonly kind: 'ready'; readonly variant: string; readonly runner: string; readonly device: string }
  | { readonly kind: 'retiring'; readonly variant: string; readonly runner: string }
  | { readonly kind: 'lost'; readonly variant: string; readonly runner: string; readonly error: GimbalError }
  | { readonly kind: 'faulted'; readonly variant: string; readonly error: GimbalError }
  | { readonly kind: 'recovered'; readonly variant: string };

export interface ServedVersionOptions {
  /** Unique for each load: a reload of the same version has another. */
  readonly key: string;
  readonly spec: VersionSpec;
  readonly arena: Arena;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly createPool: PoolFactory;
  readonly maxQueueMs: number;
  readonly loadGate: LoadGate;
  readonly decisions: DecisionObserver;
  /** Of all versions. */
  readonly answers: AnswerCache<WorkDone>;
  readonly poison: PoisonGuard;
  readonly pressure: { refuses(lane: Criticality): boolean };
  readonly onNotice: (spec: VersionSpec, notice: RunnerNotice) => void;
}

interface Variant {
  readonly spec: VariantSpec;
  readonly pool: RunnerPool;
  /** `loading` until its first runner is ready or it has failed. */
  state: 'loading' | 'ready' | 'unavailable';
  fault: GimbalError | undefined;
  device: string;
  /** Lets the next variant load. */
  leaveGate: () => void;
}

/** One loaded version: its memory, its ladder of runner pools, its calls and its counters. */
export class ServedVersion implements VersionView, CallTarget, DispatchedVersion {
  readonly key: string;
  readonly arena: Arena;
  readonly variantNames: readonly string[];
  readonly runnerPools: readonly RunnerPool[];
  /** Resolves when the version can answer; rejects with the reason when no variant can be loaded. */
  readonly loaded: Promise<void>;
  readonly startedAt: number;
  /** Set by the first runner that is ready. */
  loadMs = 0;
  /** Calls that are open. */
  openCalls = 0;
  /** Constant part of answer headers and the like, kept by the edges. */
  #spec: VersionSpec;
  #state: VersionState = 'loading';
  #profile: CostProfile | undefined;
  readonly #options: ServedVersionOptions;
  readonly #variants: Variant[];
  readonly #counters = new VersionCounters();
  readonly #decisions: VersionDecisions;
  readonly #answers: AnswerMemory | undefined;
  readonly #answeredByRung: number[] = [];
  readonly #costs: RequestCosts;
  #resolveLoaded: () => void = () => {};
  #rejectLoaded: (error: GimbalError) => void = () => {};
  #resolveDrained: () => void = () => {};
  readonly #drained: Promise<void>;

  constructor(options: ServedVersionOptions) {
    this.#options = options;
    this.key = options.key;
    this.#spec = options.spec;
    this.arena = options.arena;
    this.startedAt = options.clock.now();
    this.loaded = new Promise((resolve, reject) => {
      this.#resolveLoaded = resolve;
      this.#rejectLoaded = reject;
    });
    // A failed load is also told by state and reason: nobody has to wait for the promise.
    this.loaded.catch(() => {});
    this.#drained = new Promise((resolve) => {
      this.#resolveDrained = resolve;
    });
    this.#variants = options.spec.variants.map((spec, rung) => this.#createVariant(spec, rung));
    this.variantNames = options.spec.variants.map((variant) => variant.name);
    this.runnerPools = this.#variants.map((variant) => variant.pool);
    this.#costs = new RequestCosts(options.spec);
    this.#decisions = new VersionDecisions(options.decisions, options.clock, () => this.#situation());
    this.#answers = this.#createAnswers();
    const { batching } = options.spec;
    const maxRows = options.spec.signature.batchAxis === 'dynamic' ? batching.maxSize : 1;
    const pool = { maxRows, maxDelayMs: batching.maxDelayMs, preferredSizes: batching.preferredSizes };
    options.dispatcher.add(this, {
      version: this.key,
      // Threads are planned for this many runners at once, on whichever rung.
      maxRunning: options.spec.runners.count,
      pools: this.#variants.map(() => pool),
    });
  }

  start(): void {
    for (const variant of this.#variants) {
      this.#options.loadGate.enter((leave) => {
        if (this.#state === 'unloading') {
          leave();
          return;
        }
        variant.leaveGate = leave;
        variant.pool.start();
      });
    }
  }

  // VersionView

  get spec(): VersionSpec {
    return this.#spec;
  }

  get state(): VersionState {
    return this.#state;
  }

  get reason(): string | undefined {
    if (this.#state !== 'unavailable') return undefined;
    return this.#variants.find((variant) => variant.fault !== undefined)?.fault?.message;
  }

  get profile(): CostProfile | undefined {
    return this.#profile;
  }

  get maxRows(): number {
    return Math.max(1, ...this.#options.dispatcher.pools(this.key).map((pool) => pool.maxRows));
  }

  get variants(): readonly { name: string; state: VersionState; runners: number }[] {
    return this.#variants.map(({ spec, state, pool }) => ({
      name: spec.name,
      state: this.#state === 'unloading' ? 'unloading' : state,
      runners: pool.views.length,
    }));
  }

  get statistics(): VersionStatistics {
    return this.#counters.view();
  }

  // Calls

  /** Throws OVERLOADED, DEADLINE_EXCEEDED or MODEL_UNAVAILABLE: admission, before the body is read. */
  open(context: CallContext): HostCall {
    const { clock } = this.#options;
    const budgetMs = Math.min(context.timeoutMs ?? this.#spec.deadlineMs, Number.MAX_SAFE_INTEGER);
    const deadline = context.receivedAt + budgetMs;
    let arrival: Arrival | undefined;
    try {
      arrival = this.#admit(context, deadline);
    } catch (error) {
      this.#decisions.refused(this.#spec, context, toGimbalError(error));
      throw error;
    }
    this.openCalls += 1;
    return new HostCall(this, context, { deadline, now: clock.now, arrival });
  }

  submit(pending: PendingWork): void {
    const refusal = this.#options.poison.refusal(pending.request, this.#spec, this.arena.bytes);
    if (refusal) this.#settleLater(pending, { ok: false, error: refusal });
    else if (this.#answers) this.#answers.submit(pending, this.#spec);
    else this.#run(pending);
  }

  cancel(pending: PendingWork): void {
    if (this.#answers?.cancelled(pending)) return;
    if (pending.work) this.#options.dispatcher.cancel(pending.work);
  }

  callClosed(): void {
    this.openCalls -= 1;
  }

  /** What waits, for metrics. */
  queue(): { lane: 'critical' | 'default' | 'sheddable'; depth: number; oldestAgeMs: number }[] {
    const now = this.#options.clock.now();
    const pools = this.#options.dispatcher.pools(this.key);
    return (['critical', 'default', 'sheddable'] as const).map((lane) => {
      let depth = 0;
      let oldest = now;
      for (const { queue } of pools) {
        depth += queue.depth(lane);
        oldest = Math.min(oldest, queue.oldest(lane) ?? now);
      }
      return { lane, depth, oldestAgeMs: now - oldest };
    });
  }

  /** Undefined while the version goes. */
  ladder(): LadderReport | undefined {
    const { clock, dispatcher } = this.#options;
    const ladder = dispatcher.ladder(this.key);
    return ladder && ladderReport(this.#spec, ladder, { clock, requests: this.#answeredByRung });
  }

  /** Sends what takes any rung to one, for so long; undefined: until released. */
  pin(rung: number, forMs: number | undefined): void {
    const { clock, dispatcher } = this.#options;
    const now = clock.now();
    dispatcher.ladder(this.key)?.controller.pin(rung, now + (forMs ?? NEVER), now);
  }

  release(): void {
    this.#options.dispatcher.ladder(this.key)?.controller.release(this.#options.clock.now());
  }

  // DispatchedVersion

  onExecuted(rows: number, report: BatchReport): void {
    const { preprocessMs, inferMs, postprocessMs } = report;
    const wallTimeMs = this.#options.clock.wallTimeMs();
    this.#counters.executed({ rows, preprocessMs, inferMs, postprocessMs, wallTimeMs });
  }

  onSettled(pending: PendingWork, result: WorkResult, end: WorkEnd): WorkResult {
    const { clock, poison } = this.#options;
    if (!result.ok && result.error.code === 'POISON_INPUT') {
      const about = { arenaBytes: this.arena.bytes, because: result.error.message };
      poison.convicted(pending.request, this.#spec, about);
    }
    const told = this.#answers?.ended(pending, result) ?? result;
    const totalMs = clock.now() - pending.enqueuedAt;
    if (told.ok) this.#answeredByRung[told.rung] = (this.#answeredByRung[told.rung] ?? 0) + 1;
    if (told.ok) this.#counters.succeeded(pending.request.rows, told.timings, totalMs);
    else if (told.error.code !== 'CANCELLED') this.#counters.failed(totalMs);
    this.#decisions.ended(this.#spec, pending, { result: told, end });
    return told;
  }

  onDrained(): void {
    this.#resolveDrained();
  }

  /** Takes no more calls, lets those inside finish, ends the runners and returns the memory. */
  async retire(graceMs: number): Promise<void> {
    this.#state = 'unloading';
    this.#rejectLoaded(
      new GimbalError('MODEL_UNAVAILABLE', `Cannot load ${this.#spec.model}: it was unloaded meanwhile`),
    );
    this.#options.dispatcher.remove(this.key);
    this.#answers?.clear(this.#spec);
    for (const variant of this.#variants) variant.leaveGate();
    await Promise.race([this.#drained, delay(graceMs)]);
    await Promise.all(this.runnerPools.map((pool) => pool.stop(graceMs)));
    this.#closeArena();
  }

  #admit(context: CallContext, deadline: Instant): Arrival | undefined {
    const { dispatcher, maxQueueMs, pressure } = this.#options;
    if (pressure.refuses(context.criticality)) throw memoryIsTight();
    // What is kept may answer it whatever the load: that is known when the body is.
    if (this.#answers && this.#state === 'ready') return undefined;
    return dispatcher.admit(this.key, {
      rows: 1,
      deadline: Math.min(deadline, context.receivedAt + maxQueueMs),
      lane: context.criticality,
      costClass: this.#costs.ofBody(context.bodyBytes),
      quality: qualityOf(context),
      ...termsOf(context),
    });
  }

  #run(pending: PendingWork): void {
    const { request } = pending;
    const { context } = pending.call;
    const work = new Work<PendingWork>({
      version: this.key,
      rows: request.rows,
      bucket: this.#costs.bucketOf(request),
      costClass: this.#costs.classOf(request),
      splittable:
        request.rows > 1 && request.input.kind === 'tensors' && this.#spec.signature.batchAxis === 'dynamic',
      lane: context.criticality,
      quality: qualityOf(context),
      ...termsOf(context),
      repeatable: this.#spec.repeatable,
      enqueuedAt: pending.enqueuedAt,
      deadline: pending.deadline,
      payload: pending,
    });
    pending.work = work;
    this.#options.dispatcher.submit(work);
  }

  /** An end that no engine makes. */
  #settleLater(pending: PendingWork, result: WorkResult): void {
    const totalMs = this.#options.clock.now() - pending.enqueuedAt;
    if (result.ok) this.#counters.succeeded(pending.request.rows, result.timings, totalMs);
    else this.#counters.failed(totalMs);
    this.#decisions.ended(this.#spec, pending, { result, end: undefined });
    this.#options.dispatcher.settleLater(pending, result);
  }

  #createAnswers(): AnswerMemory | undefined {
    const { answers, clock, spec } = this.#options;
    if (!spec.cached) return undefined;
    return new AnswerMemory(answers, clock, {
      arenaBytes: () => this.arena.bytes,
      run: (pending) => this.#run(pending),
      settleLater: (pending, result) => this.#settleLater(pending, result),
      at: (instant, callback) => {
        const timer = setTimeout(callback, Math.max(0, instant - clock.now()));
        return () => clearTimeout(timer);
      },
    });
  }

  #situation(): DecisionSituation {
    let queuedRows = 0;
    let runningRows = 0;
    let serving = 0;
    for (const pool of this.#options.dispatcher.pools(this.key)) {
      queuedRows += pool.queue.rows;
      runningRows += pool.runningRows;
      serving += pool.serving;
    }
    const ladder = this.#options.dispatcher.ladder(this.key);
    const closedRungs = this.#variants.flatMap((_, rung) => {
      const because = ladder?.closedBecause(rung);
      return because === undefined ? [] : [{ rung, because }];
    });
    const ladderPosition = ladder?.controller.position ?? 0;
    return { queuedRows, runningRows, serving, ladderPosition, closedRungs };
  }

  #closeArena(): void {
    if (this.arena.used === 0) this.arena.close();
    else setTimeout(() => this.#closeArena(), ARENA_CHECK_MS).unref();
  }

  #createVariant(spec: VariantSpec, rung: number): Variant {
    const { arena, createPool } = this.#options;
    const events = this.#events(rung);
    const pool = createPool({ spec: this.#spec, variant: spec, rung, arena, events });
    return { spec, pool, state: 'loading', fault: undefined, device: 'cpu', leaveGate: () => {} };
  }

  #events(rung: number): PoolEvents {
    const { dispatcher } = this.#options;
    const place = (runnerId: string): RunnerPlace => ({ version: this.key, rung, runnerId });
    const variant = this.#spec.variants[rung]?.name ?? '';
    const tell = (notice: RunnerNotice): void => this.#options.onNotice(this.#spec, notice);
    return {
      onReady: (id, ready) => {
        tell({ kind: 'ready', variant, runner: id, device: ready.device });
        this.#runnerReady(place(id), ready);
      },
      onRetiring: (id) => {
        tell({ kind: 'retiring', variant, runner: id });
        dispatcher.runnerRetiring(place(id));
      },
      onLost: (id, error) => {
        tell({ kind: 'lost', variant, runner: id, error });
        dispatcher.runnerLost(place(id), { error, cause: 'crashed' });
      },
      onReport: (id, batchId, report) => dispatcher.batchReported(place(id), batchId, report),
      onFault: (error) => {
        tell(error ? { kind: 'faulted', variant, error } : { kind: 'recovered', variant });
        this.#faulted(rung, error);
      },
    };
  }

  #runnerReady(place: RunnerPlace, ready: RunnerReady): void {
    const variant = this.#variants[place.rung];
    if (!variant || this.#state === 'unloading') return;
    variant.state = 'ready';
    variant.fault = undefined;
    variant.device = ready.device;
    variant.leaveGate();
    if (place.rung === 0 || !this.#profile) {
      this.#profile = ready.profile;
      this.#spec = { ...this.#spec, signature: ready.signature };
    }
    const profile =
      this.#spec.signature.batchAxis === 'none' ? { ...ready.profile, bestRows: 1 } : ready.profile;
    this.#options.dispatcher.runnerReady(place, profile);
    this.#review();
  }

  #faulted(rung: number, error: GimbalError | undefined): void {
    const variant = this.#variants[rung];
    if (!variant || this.#state === 'unloading') return;
    variant.fault = error;
    variant.leaveGate();
    if (error) variant.state = 'unavailable';
    this.#options.dispatcher.faulted({ version: this.key, rung }, error);
    this.#review();
  }

  /** The version's state from its variants': ready once all have been tried and one works. */
  #review(): void {
    const states = this.#variants.map((variant) => variant.state);
    if (this.#state === 'loading' && states.includes('loading')) return;
    if (states.includes('ready')) {
      if (this.#state === 'loading') this.loadMs = this.#options.clock.now() - this.startedAt;
      this.#state = 'ready';
      this.#resolveLoaded();
    } else if (states.every((state) => state === 'unavailable')) {
      this.#state = 'unavailable';
      const fault = this.#variants[0]?.fault;
      this.#rejectLoaded(fault ?? new GimbalError('MODEL_UNAVAILABLE', `Cannot load ${this.#spec.model}`));
    }
  }
}

function memoryIsTight(): GimbalError {
  return new GimbalError(
    'OVERLOADED',
    'Cannot take the request: the server is short of memory, expected to have some again soon; critical requests are taken longest',
    { retryAfterMs: 1000 },
  );
}

/** What a call says of how it wants to be served. */
function termsOf({ tenant = '', timeoutMs }: CallContext): { tenant: string; deadlineTold: boolean } {
  return { tenant, deadlineTold: timeoutMs !== undefined };
}

/** Critical calls keep the best rung while it can take work; others may insist on it. */
function qualityOf({ criticality, refusesDegraded = false }: CallContext): QualityDemand {
  if (refusesDegraded) return 'best-only';
  return criticality === 'critical' ? 'best-first' : 'any';
}

function delay(ms: number): Promise<void> {
  if (ms === NEVER) return new Promise(() => {});
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
