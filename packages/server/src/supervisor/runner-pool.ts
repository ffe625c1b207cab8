import {
  assert,
  type BatchJob,
  type Clock,
  type CostProfile,
  GimbalError,
  type Instant,
  type PoolEvents,
  type Random,
  RestartBackoff,
  type RunnerExit,
  type RunnerPool,
  type RunnerView,
  type VersionSpec,
} from '@gimbal/core';
import type { Arena } from '../transport/arena.ts';
import { RUNNER_MAIN } from './runner-child.ts';
import { DEFAULT_RUNNER_LIMITS, type RunnerLimits } from './runner-limits.ts';
import { type ProcessEvents, type RunnerLine, RunnerProcess } from './runner-process.ts';
import { emptySlot, type RunnerSlot, viewsOf } from './runner-slot.ts';

export interface RunnerPoolOptions {
  readonly spec: VersionSpec;
  /** Index of the variant in `spec.variants`. */
  readonly variant: number;
  /** Threads inside one run. */
  readonly threads: number;
  /** Execution providers, tried in order. Default: `['cpu']`. */
  readonly providers?: readonly string[];
  /** The version's memory; it must outlive the pool. */
  readonly arena: Arena;
  readonly events: PoolEvents;
  readonly clock: Clock;
  readonly random: Random;
  /** What runners print, line by line, bounded in length and rate. */
  readonly onLine?: (line: RunnerLine) => void;
  readonly limits?: Partial<RunnerLimits>;
  /** Default: exponential back-off with jitter, crash loops probed slowly. */
  readonly restarts?: Pick<RestartBackoff, 'next'>;
  /** Path of the runner's program. Default: ours. */
  readonly program?: string;
}

/** A host that looks at its runners this much too late was away itself. */
const STALL_MS = 500;

/** Runs a variant in `spec.runners.count` processes, which are watched, restarted and recycled. */
export function createRunnerPool(options: RunnerPoolOptions): RunnerPool {
  return new ProcessPool(options);
}

class ProcessPool implements RunnerPool {
  readonly #options: RunnerPoolOptions;
  readonly #limits: RunnerLimits;
  readonly #restarts: Pick<RestartBackoff, 'next'>;
  readonly #slots: readonly RunnerSlot[];
  readonly #processEvents: ProcessEvents;
  /** By id; the processes that exist. */
  readonly #processes = new Map<string, { readonly runner: RunnerProcess; readonly slot: RunnerSlot }>();
  #profile: CostProfile | undefined;
  #ticker: NodeJS.Timeout | undefined;
  #tickedAt: Instant = 0;
  #recycleNotBefore: Instant = 0;
  #faulted = false;
  #stopping = false;
  #killAt: Instant = Number.POSITIVE_INFINITY;
  #stopped: Promise<void> | undefined;
  #onStopped: (() => void) | undefined;

  constructor(options: RunnerPoolOptions) {
    this.#options = options;
    this.#limits = { ...DEFAULT_RUNNER_LIMITS, ...options.limits };
    this.#restarts = options.restarts ?? new RestartBackoff(options.random);
    this.#slots = Array.from({ length: options.spec.runners.count }, (_, index) => emptySlot(index));
    this.#processEvents = {
      onReady: (runner, ready) => {
        this.#onReady(runner);
        options.events.onReady(runner.id, ready);
        this.#afterReady(runner);
      },
      onReport: (runner, batchId, report) => options.events.onReport(runner.id, batchId, report),
      onIdle: () => this.#recycle(this.#now()),
      onGone: (runner, error, exit) => this.#onGone(runner, error, exit),
    };
  }

  get views(): readonly RunnerView[] {
    return this.#slots.flatMap(viewsOf);
  }

  start(): void {
    assert(!this.#ticker && !this.#stopping, 'a pool is started once');
    this.#tickedAt = this.#now();
    this.#ticker = setInterval(() => this.#tick(), this.#limits.tickMs);
    for (const slot of this.#slots) slot.active = this.#launch(slot);
  }

  run(id: string, job: BatchJob, predictedMs: number): void {
    const found = this.#processes.get(id);
    assert(found, 'batches go to runners that are ready');
    found.runner.run(job, predictedMs);
  }

  kill(id: string, error: GimbalError): void {
    this.#processes.get(id)?.runner.kill(error);
  }

  stop(graceMs: number): Promise<void> {
    this.#killAt = Math.min(this.#killAt, this.#now() + graceMs);
    this.#stopped ??= new Promise((resolve) => {
      this.#onStopped = resolve;
      this.#stopping = true;
      // Events never come inside a call to the pool.
      void Promise.resolve().then(() => this.#retireAll());
    });
    return this.#stopped;
  }

  #retireAll(): void {
    for (const { runner } of [...this.#processes.values()]) {
      if (runner.takesWork) this.#options.events.onRetiring(runner.id);
      runner.retire();
    }
    this.#finishStop();
  }

  #finishStop(): void {
    if (!this.#stopping || this.#processes.size > 0) return;
    for (const slot of this.#slots) slot.last = undefined;
    clearInterval(this.#ticker);
    this.#onStopped?.();
  }

  #launch(slot: RunnerSlot): RunnerProcess {
    const { spec, variant, threads, providers, arena, clock, onLine, program } = this.#options;
    slot.generation += 1;
    slot.startAt = undefined;
    const name = spec.variants[variant]?.name ?? String(variant);
    const runner = new RunnerProcess(
      {
        id: `${name}-${slot.index}.${slot.generation}`,
        spec,
        variant,
        threads,
        providers: providers ?? ['cpu'],
        arena,
        clock,
        limits: this.#limits,
        profile: this.#profile,
        onLine: onLine ?? (() => {}),
        program: program ?? RUNNER_MAIN,
      },
      this.#processEvents,
    );
    this.#processes.set(runner.id, { runner, slot });
    return runner;
  }

  #onReady(runner: RunnerProcess): void {
    this.#profile ??= runner.ownProfile;
    const slot = this.#slotOf(runner);
    slot.fault = undefined;
  }

  /** The replacement works: only now the old runner leaves. */
  #afterReady(runner: RunnerProcess): void {
    this.#tellFault(undefined);
    const slot = this.#slotOf(runner);
    if (slot.successor === runner) {
      slot.successor = undefined;
      const old = slot.active;
      slot.active = runner;
      if (old) this.#retire(slot, old);
    }
    if (this.#stopping) runner.retire();
  }

  #retire(slot: RunnerSlot, old: RunnerProcess): void {
    slot.leaving.add(old);
    this.#options.events.onRetiring(old.id);
    old.retire();
  }

  #onGone(runner: RunnerProcess, error: GimbalError, exit: RunnerExit): void {
    const slot = this.#slotOf(runner);
    this.#processes.delete(runner.id);
    if (slot.active === runner) this.#lostActive(slot, runner, { error, exit });
    else if (slot.successor === runner) {
      slot.successor = undefined;
      this.#recycleNotBefore = this.#now() + this.#limits.recycleRetryMs;
    } else slot.leaving.delete(runner);
    if (runner.announced) this.#options.events.onLost(runner.id, error);
    if (slot.fault && !this.#stopping) this.#tellFault(slot.fault);
    this.#finishStop();
  }

  #lostActive(
    slot: RunnerSlot,
    runner: RunnerProcess,
    { error, exit }: { error: GimbalError; exit: RunnerExit },
  ): void {
    slot.active = undefined;
    if (this.#stopping) return;
    slot.last = runner.view(slot.restarts);
    slot.restarts += 1;
    const now = this.#now();
    const { state, delayMs } = this.#restarts.next(exit, now);
    slot.fault = state === 'faulted' ? faultOf(error) : undefined;
    if (slot.successor) {
      // The replacement is further than a new start would be.
      slot.active = slot.successor;
      slot.successor = undefined;
    } else slot.startAt = now + delayMs;
  }

  /** A variant is at fault while a runner is and none works. */
  #tellFault(fault: GimbalError | undefined): void {
    const works = [...this.#processes.values()].some(({ runner }) => runner.takesWork);
    const faulted = fault !== undefined && !works;
    if (faulted === this.#faulted || (fault !== undefined && works)) return;
    this.#faulted = faulted;
    this.#options.events.onFault(faulted ? fault : undefined);
  }

  #tick(): void {
    const now = this.#now();
    const lateMs = now - this.#tickedAt - this.#limits.tickMs;
    this.#tickedAt = now;
    const stalledMs = lateMs > STALL_MS ? lateMs : 0;
    for (const { runner } of [...this.#processes.values()]) {
      runner.tick(now, stalledMs);
      if (now >= this.#killAt) runner.kill(outOfGrace());
    }
    if (this.#stopping) return;
    for (const slot of this.#slots) {
      if (slot.startAt !== undefined && now >= slot.startAt) slot.active = this.#launch(slot);
    }
    this.#recycle(now);
  }

  /** One at a time: a replacement needs the memory of a second runner. */
  #recycle(now: Instant): void {
    if (this.#stopping || now < this.#recycleNotBefore) return;
    let due: RunnerSlot | undefined;
    for (const slot of this.#slots) {
      if (slot.successor || slot.leaving.size > 0) return;
      if (!due && slot.active?.takesWork && this.#isWorn(slot.active, now)) due = slot;
    }
    if (due) due.successor = this.#launch(due);
  }

  #isWorn(runner: RunnerProcess, now: Instant): boolean {
    const { recycleBatches, recycleAgeMs, recycleGrowthBytes } = this.#options.spec.runners;
    return (
      (recycleBatches > 0 && runner.batches >= recycleBatches) ||
      (recycleAgeMs > 0 && runner.ageMs(now) >= recycleAgeMs) ||
      (recycleGrowthBytes > 0 && runner.growthBytes >= recycleGrowthBytes)
    );
  }

  #slotOf(runner: RunnerProcess): RunnerSlot {
    const found = this.#processes.get(runner.id);
    assert(found, 'a process belongs to a slot');
    return found.slot;
  }

  #now(): Instant {
    return this.#options.clock.now();
  }
}

/** A crash loop is told as the variant's fault, not as one batch's. */
function faultOf(error: GimbalError): GimbalError {
  if (error.code === 'MODEL_UNAVAILABLE') return error;
  return new GimbalError(
    'MODEL_UNAVAILABLE',
    `Cannot run the model: its process ends again and again, last because "${error.message}"`,
    { cause: error },
  );
}

function outOfGrace(): GimbalError {
  return new GimbalError('DRAINING', 'Cannot answer: the runner was stopped before the batch was finished');
}
