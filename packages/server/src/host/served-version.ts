import {
  type AnswerCache,
  type Arrival,
  type BatchReport,
  type CallContext,
  type CostProfile,
  type Criticality,
  type DecisionObserver,
  type DecisionSituation,
  GimbalError,
  type Instant,
  type LadderReport,
  NEVER,
  type ProbeWanted,
  type QualityDemand,
  type RunnerPool,
  type StreamLimits,
  type StreamTerms,
  toGimbalError,
  type VersionSpec,
  type VersionState,
  type VersionStatistics,
  type VersionView,
  type Want,
  Work,
  type WorkDone,
  type WorkResult,
} from '@gimbal/core';
import type { Arena } from '../transport/arena.ts';
import { AnswerMemory } from './answer-memory.ts';
import { type CallTarget, HostCall, PendingWork } from './call.ts';
import type { DispatchedVersion, Dispatcher, WorkEnd } from './dispatcher.ts';
import { GatheredPieces } from './gathered-pieces.ts';
import { goldenRequest } from './golden-input.ts';
import { ladderReport } from './ladder-report.ts';
import type { PoisonGuard } from './poison-guard.ts';
import { RequestCosts } from './request-costs.ts';
import { ServedVariants, type ServedVariantsOptions } from './served-variants.ts';
import { VersionCounters } from './version-counters.ts';
import { VersionDecisions } from './version-decisions.ts';

/** After the last work, outputs may still be on their way to slow clients: the arena is unmapped when they are done. */
const ARENA_CHECK_MS = 100;

export interface ServedVersionOptions extends ServedVariantsOptions {
  readonly dispatcher: Dispatcher;
  readonly maxQueueMs: number;
  readonly stream: StreamLimits;
  readonly decisions: DecisionObserver;
  /** Of all versions. */
  readonly answers: AnswerCache<WorkDone>;
  readonly poison: PoisonGuard;
  readonly pressure: { refuses(lane: Criticality): boolean };
}

/** An input of our own must be answered in this time. */
const PROBE_TIMEOUT_MS = 4_000;
const PROBE_CONTEXT = {
  requestId: 'probe',
  protocol: 'native',
  timeoutMs: PROBE_TIMEOUT_MS,
  criticality: 'default',
  bodyBytes: undefined,
} as const;

/** One loaded version: its memory, its ladder of runner pools, its calls and its counters. */
export class ServedVersion implements VersionView, CallTarget, DispatchedVersion {
  readonly key: string;
  readonly arena: Arena;
  readonly variantNames: readonly string[];
  readonly runnerPools: readonly RunnerPool[];
  readonly streamTerms: StreamTerms | undefined;
  /** Resolves when the version can answer; rejects with the reason when no variant can be loaded. */
  readonly loaded: Promise<void>;
  readonly startedAt: number;
  /** Calls that are open. */
  openCalls = 0;
  /** Constant part of answer headers and the like, kept by the edges. */
  readonly #options: ServedVersionOptions;
  readonly #variants: ServedVariants;
  readonly #counters = new VersionCounters();
  readonly #decisions: VersionDecisions;
  readonly #answers: AnswerMemory | undefined;
  readonly #answeredByRung: number[] = [];
  readonly #costs: RequestCosts;
  #resolveDrained: () => void = () => {};
  readonly #drained: Promise<void>;

  constructor(options: ServedVersionOptions) {
    this.#options = options;
    this.key = options.key;
    this.arena = options.arena;
    this.#drained = new Promise((resolve) => {
      this.#resolveDrained = resolve;
    });
    this.#variants = new ServedVariants(options);
    this.loaded = this.#variants.loaded;
    this.startedAt = this.#variants.startedAt;
    this.variantNames = options.spec.variants.map((variant) => variant.name);
    this.runnerPools = this.#variants.pools;
    this.#costs = new RequestCosts(options.spec);
    this.#decisions = new VersionDecisions(options.decisions, options.clock, () => this.#situation());
    this.#answers = this.#createAnswers();
    const { batching, signature } = options.spec;
    const streams = signature.streams ?? false;
    this.streamTerms = streams ? options.stream : undefined;
    const maxRows = signature.batchAxis === 'dynamic' && !streams ? batching.maxSize : 1;
    const { maxDelayMs, preferredSizes } = batching;
    const pool = { maxRows, maxDelayMs, preferredSizes, streams };
    options.dispatcher.add(this, {
      version: this.key,
      // Threads are planned for this many runners at once, on whichever rung.
      maxRunning: options.spec.runners.count,
      stream: options.stream,
      pools: this.runnerPools.map(() => pool),
    });
  }

  start(): void {
    this.#variants.start();
  }

  /** From the start to the first moment in which it could answer. */
  get loadMs(): number {
    return this.#variants.loadMs;
  }

  // VersionView

  get spec(): VersionSpec {
    return this.#variants.spec;
  }

  get state(): VersionState {
    return this.#variants.state;
  }

  get reason(): string | undefined {
    return this.#variants.reason;
  }

  get profile(): CostProfile | undefined {
    return this.#variants.profile;
  }

  get maxRows(): number {
    return Math.max(1, ...this.#options.dispatcher.pools(this.key).map((pool) => pool.maxRows));
  }

  get variants(): VersionView['variants'] {
    return this.#variants.views;
  }

  get statistics(): VersionStatistics {
    return this.#counters.view();
  }

  // Calls

  /** Throws OVERLOADED, DEADLINE_EXCEEDED or MODEL_UNAVAILABLE: admission, before the body is read. */
  open(context: CallContext): HostCall {
    const { clock } = this.#options;
    const budgetMs = Math.min(context.timeoutMs ?? this.spec.deadlineMs, Number.MAX_SAFE_INTEGER);
    const deadline = context.receivedAt + budgetMs;
    let arrival: Arrival | undefined;
    try {
      arrival = this.#admit(context, deadline);
    } catch (error) {
      this.#decisions.refused(this.spec, context, toGimbalError(error));
      throw error;
    }
    this.openCalls += 1;
    return new HostCall(this, context, { deadline, now: clock.now, arrival });
  }

  submit(pending: PendingWork): void {
    const refusal = this.#options.poison.refusal(pending.request, this.spec, this.arena.bytes);
    if (refusal) this.#settleLater(pending, { ok: false, error: refusal });
    else if (this.#answers) this.#answers.submit(pending, this.spec);
    else this.#run(pending);
  }

  cancel(pending: PendingWork): void {
    if (this.#answers?.cancelled(pending)) return;
    if (pending.work) this.#options.dispatcher.cancel(pending.work);
  }

  gather(want: Want): GatheredPieces | undefined {
    const { maxCollectedBytes } = this.#options.stream;
    return this.streamTerms && new GatheredPieces(this.spec.signature, { want, maxBytes: maxCollectedBytes });
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
    return ladder && ladderReport(this.spec, ladder, { clock, requests: this.#answeredByRung });
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
    if (end.work.probe) return result;
    if (!result.ok && result.error.code === 'POISON_INPUT') {
      const about = { arenaBytes: this.arena.bytes, because: result.error.message };
      poison.convicted(pending.request, this.spec, about);
    }
    const told = this.#answers?.ended(pending, result) ?? result;
    const totalMs = clock.now() - pending.enqueuedAt;
    if (told.ok) this.#answeredByRung[told.rung] = (this.#answeredByRung[told.rung] ?? 0) + 1;
    if (told.ok) this.#counters.succeeded(pending.request.rows, told.timings, totalMs);
    else if (told.error.code !== 'CANCELLED') this.#counters.failed(totalMs);
    this.#decisions.ended(this.spec, pending, { result: told, end });
    return told;
  }

  onProbeWanted(want: ProbeWanted): void {
    const { clock, dispatcher } = this.#options;
    const now = clock.now();
    const context = { ...PROBE_CONTEXT, receivedAt: now };
    const deadline = now + PROBE_TIMEOUT_MS;
    const call = new HostCall(this, context, { deadline, now: clock.now, arrival: undefined });
    this.openCalls += 1;
    try {
      const request = goldenRequest(this.spec, call);
      const pending = new PendingWork(
        call,
        request,
        { enqueuedAt: now, deadline },
        { onSettled: () => call.close(), onPiece: (piece) => piece.taken() },
      );
      dispatcher.submitProbe(this.#workOf(pending), want);
    } catch {
      // No memory for it: the breaker takes a probe without an answer for a failed one.
      call.close();
    }
  }

  onDrained(): void {
    this.#resolveDrained();
  }

  /** Takes no more calls, lets those inside finish, ends the runners and returns the memory. */
  async retire(graceMs: number): Promise<void> {
    this.#variants.unload();
    this.#options.dispatcher.remove(this.key);
    this.#answers?.clear(this.spec);
    await Promise.race([this.#drained, delay(graceMs)]);
    await Promise.all(this.runnerPools.map((pool) => pool.stop(graceMs)));
    this.#closeArena();
  }

  #admit(context: CallContext, deadline: Instant): Arrival | undefined {
    const { dispatcher, maxQueueMs, pressure } = this.#options;
    if (pressure.refuses(context.criticality)) throw memoryIsTight();
    // What is kept may answer it whatever the load: that is known when the body is.
    if (this.#answers && this.state === 'ready') return undefined;
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
    this.#options.dispatcher.submit(this.#workOf(pending));
  }

  #workOf(pending: PendingWork): Work<PendingWork> {
    const { request } = pending;
    const { context } = pending.call;
    const work = new Work<PendingWork>({
      version: this.key,
      rows: request.rows,
      bucket: this.#costs.bucketOf(request),
      costClass: this.#costs.classOf(request),
      splittable:
        !this.streamTerms &&
        request.rows > 1 &&
        request.input.kind === 'tensors' &&
        this.spec.signature.batchAxis === 'dynamic',
      streams: this.streamTerms !== undefined,
      lane: context.criticality,
      quality: qualityOf(context),
      ...termsOf(context),
      repeatable: this.spec.repeatable,
      enqueuedAt: pending.enqueuedAt,
      deadline: pending.deadline,
      payload: pending,
    });
    pending.work = work;
    return work;
  }

  /** An end that no engine makes. */
  #settleLater(pending: PendingWork, result: WorkResult): void {
    const totalMs = this.#options.clock.now() - pending.enqueuedAt;
    if (result.ok) this.#counters.succeeded(pending.request.rows, result.timings, totalMs);
    else this.#counters.failed(totalMs);
    this.#decisions.ended(this.spec, pending, { result, end: undefined });
    this.#options.dispatcher.settleLater(pending, result);
  }

  #createAnswers(): AnswerMemory | undefined {
    const { answers, clock, spec } = this.#options;
    if (!spec.cached || this.streamTerms) return undefined;
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
    const closedRungs = this.variantNames.flatMap((_, rung) => {
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
