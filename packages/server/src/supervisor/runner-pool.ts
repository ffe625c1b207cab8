import {
  assert,
  type BatchJob,
  type BatchReport,
  type CostProfile,
  type FaultOrder,
  GimbalError,
  type Instant,
  RestartBackoff,
  type RunnerExit,
  type RunnerPool,
  type RunnerReady,
  type RunnerView,
} from '@gimbal/core';
import { KernelKills } from './kernel-kills.ts';
import type { RunnerPoolOptions } from './pool-options.ts';
import type { ProcessEvents } from './process-options.ts';
import { RUNNER_MAIN } from './runner-child.ts';
import type { RunnerLoss } from './runner-end.ts';
import { DEFAULT_RUNNER_LIMITS, type RunnerLimits } from './runner-limits.ts';
import { RunnerProcess } from './runner-process.ts';
import { emptySlot, type RunnerSlot, viewsOf } from './runner-slot.ts';
import { GateTurns, OPEN_GATE } from './start-gate.ts';
import { wornBecause } from './worn.ts';

export type { RunnerPoolOptions } from './pool-options.ts';

/** A host that looks at its runners this much too late was away itself. */
const STALL_MS = 500;
/** How long ago the kernel may have killed to be blamed for an end. */
const KERNEL_LOOK_MS = 1000;

/** Runs a variant in `spec.runners.count` processes, which are watched, restarted and recycled. */
export function createRunnerPool(options: RunnerPoolOptions): RunnerPool {
  return new ProcessPool(options);
}

/** A process that exists. */
interface Member {
  readonly runner: RunnerProcess;
  slot: RunnerSlot;
  /** Set when it is ready. */
  ready: RunnerReady | undefined;
  /** Whether the host has been told of it. A spare is not until it takes over. */
  isTold: boolean;
}

class ProcessPool implements RunnerPool {
  readonly #options: RunnerPoolOptions;
  readonly #limits: RunnerLimits;
  readonly #restarts: Pick<RestartBackoff, 'next'>;
  readonly #slots: readonly RunnerSlot[];
  readonly #spares: readonly RunnerSlot[];
  readonly #processEvents: ProcessEvents;
  readonly #turns = new GateTurns();
  readonly #kernel = new KernelKills();
  /** By id. */
  readonly #members = new Map<string, Member>();
  readonly #limitations = new Set<string>();
  #profile: CostProfile | undefined;
  #ticker: NodeJS.Timeout | undefined;
  #tickedAt: Instant = 0;
  #kernelLookedAt: Instant = 0;
  #recycleNotBefore: Instant = 0;
  #growthRecycleNotBefore: Instant = 0;
  #faulted = false;
  #stopping = false;
  #killAt: Instant = Number.POSITIVE_INFINITY;
  #stopped: Promise<void> | undefined;
  #onStopped: (() => void) | undefined;

  constructor(options: RunnerPoolOptions) {
    this.#options = options;
    this.#limits = { ...DEFAULT_RUNNER_LIMITS, ...options.limits };
    this.#restarts = options.restarts ?? new RestartBackoff(options.random);
    const { count, spare } = options.spec.runners;
    this.#slots = Array.from({ length: count }, (_, index) => emptySlot(String(index)));
    this.#spares = Array.from({ length: spare }, (_, index) => emptySlot(`spare${index}`, true));
    this.#processEvents = {
      onReady: (runner, ready) => this.#onReady(runner, ready),
      onReport: (runner, batchId, report) => this.#onReport(runner, batchId, report),
      onPiece: (runner, batchId, piece) => this.#options.events.onPiece?.(runner.id, batchId, piece),
      onIdle: () => this.#recycle(this.#now()),
      onGone: (runner, loss, exit) => this.#onGone(runner, loss, exit),
    };
  }

  get views(): readonly RunnerView[] {
    return [...this.#slots, ...this.#spares].flatMap(viewsOf);
  }

  start(): void {
    assert(!this.#ticker && !this.#stopping, 'a pool is started once');
    this.#tickedAt = this.#now();
    this.#ticker = setInterval(() => this.#tick(), this.#limits.tickMs);
    for (const slot of this.#slots) slot.active = this.#launch(slot);
  }

  run(id: string, job: BatchJob, predictedMs: number, latestDeadline?: Instant): void {
    const found = this.#members.get(id);
    assert(found, 'batches go to runners that are ready');
    found.runner.run(job, predictedMs, latestDeadline);
  }

  kill(id: string, error: GimbalError): void {
    const isHang = error.code === 'RUNNER_TIMED_OUT';
    const end = isHang ? ({ cause: 'hung', because: 'slow' } as const) : ({ cause: 'stopped' } as const);
    this.#members.get(id)?.runner.kill({ error, end });
  }

  cancel(batchId: number): void {
    this.#runnerOf(batchId)?.cancel();
  }

  grant(batchId: number, pieces: number): void {
    this.#runnerOf(batchId)?.grant(pieces);
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

  inject(id: string, order: FaultOrder): void {
    if (!this.#options.drills) throw drillsAreOff();
    this.#members.get(id)?.runner.inject(order);
  }

  relieve(id: string, order: FaultOrder): void {
    if (this.#options.drills) this.#members.get(id)?.runner.relieve(order);
  }

  #retireAll(): void {
    for (const { runner, isTold } of [...this.#members.values()]) {
      if (runner.takesWork && isTold) this.#options.events.onRetiring(runner.id);
      runner.retire();
    }
    this.#finishStop();
  }

  #finishStop(): void {
    if (!this.#stopping || this.#members.size > 0) return;
    for (const slot of [...this.#slots, ...this.#spares]) slot.last = undefined;
    clearInterval(this.#ticker);
    this.#onStopped?.();
  }

  #launch(slot: RunnerSlot): RunnerProcess {
    const { spec, variant, threads, providers, arena, clock, onLine, program, drills } = this.#options;
    slot.generation += 1;
    slot.startAt = undefined;
    const name = spec.variants[variant]?.name ?? String(variant);
    const runner = new RunnerProcess(
      {
        id: `${name}-${slot.name}.${slot.generation}`,
        spec,
        variant,
        threads,
        providers: providers ?? ['cpu'],
        arena,
        clock,
        limits: this.#limits,
        profile: this.#profile,
        onLine: onLine ?? (() => {}),
        onLimitation: (because) => this.#onLimitation(because),
        program: program ?? RUNNER_MAIN,
        drills: drills ?? false,
        kernelKilled: () => this.#kernel.killedSince,
      },
      this.#processEvents,
    );
    this.#members.set(runner.id, { runner, slot, ready: undefined, isTold: false });
    return runner;
  }

  /** A start that others may be before. `take` gets the process when it is still wanted by then. */
  #launchInTurn(slot: RunnerSlot, isWanted: () => boolean, take: (runner: RunnerProcess) => void): void {
    slot.startAt = undefined;
    slot.isQueued = true;
    (this.#options.gate ?? OPEN_GATE).enter((leave) => {
      slot.isQueued = false;
      if (this.#stopping || !isWanted()) {
        leave();
        return;
      }
      const runner = this.#launch(slot);
      this.#turns.begin(runner.id, leave, this.#now() + this.#limits.gateTurnMs);
      take(runner);
    });
  }

  #onReady(runner: RunnerProcess, ready: RunnerReady): void {
    this.#profile ??= runner.ownProfile;
    this.#turns.end(runner.id);
    const member = this.#memberOf(runner);
    member.ready = ready;
    member.slot.fault = undefined;
    if (!member.slot.isSpare || this.#stopping) {
      this.#announce(member);
      return;
    }
    // It may be ready sooner than what it is there to replace.
    const empty = this.#slots.find((slot) => !slot.active);
    if (empty) this.#promote(member, empty);
  }

  /** From here on the host knows of it. */
  #announce(member: Member): void {
    const { runner, ready, slot } = member;
    if (!ready) return;
    member.isTold = true;
    this.#options.events.onReady(runner.id, ready);
    this.#tellFault(undefined);
    if (slot.successor === runner) this.#succeed(slot, runner);
    if (this.#stopping) runner.retire();
  }

  /** The replacement works: only now the old runner leaves. */
  #succeed(slot: RunnerSlot, runner: RunnerProcess): void {
    const old = slot.active;
    slot.successor = undefined;
    slot.active = runner;
    slot.growth.replaced();
    if (!old) return;
    slot.leaving.add(old);
    this.#options.events.onRetiring(old.id);
    old.retire();
  }

  /** The spare takes the place of a lost runner; its own is filled again later. */
  #promote(member: Member, slot: RunnerSlot): void {
    const { runner, slot: from } = member;
    from.active = undefined;
    from.startAt = slot.startAt ?? this.#now();
    from.fault = slot.fault;
    slot.fault = undefined;
    slot.startAt = undefined;
    slot.active = runner;
    slot.growth.replaced();
    member.slot = slot;
    const lost = slot.last?.id ?? '';
    this.#announce(member);
    this.#options.events.onNotice?.({ kind: 'took-over', runner: runner.id, lost });
  }

  #onReport(runner: RunnerProcess, batchId: number, report: BatchReport): void {
    this.#watchGrowth(runner);
    this.#options.events.onReport(runner.id, batchId, report);
  }

  #watchGrowth(runner: RunnerProcess): void {
    const { slot } = this.#memberOf(runner);
    if (slot.active !== runner) return;
    const { memoryLimitBytes } = this.#options;
    const sample = { ...runner.memory, limitBytes: memoryLimitBytes };
    const verdict = slot.growth.observed(sample, this.#now());
    if (!verdict || verdict.kind === 'steady') return;
    const { kind, bytesPerRequest, limitInMs, because } = verdict;
    this.#options.events.onNotice?.({
      kind: 'memory-growth',
      runner: runner.id,
      verdict: kind,
      bytesPerRequest,
      limitInMs,
      residentBytes: sample.bytes,
      because,
    });
  }

  #onGone(runner: RunnerProcess, loss: RunnerLoss, exit: RunnerExit): void {
    const { slot, isTold } = this.#memberOf(runner);
    const { error, end } = loss;
    this.#members.delete(runner.id);
    this.#turns.end(runner.id);
    if (slot.active === runner) this.#lostActive(slot, runner, { error, exit });
    else if (slot.successor === runner) {
      slot.successor = undefined;
      this.#recycleNotBefore = this.#now() + this.#limits.recycleRetryMs;
    } else slot.leaving.delete(runner);
    if (isTold) this.#options.events.onLost(runner.id, error, end);
    if (!this.#stopping) {
      if (!slot.active && !slot.isSpare) this.#takeOver(slot);
      if (slot.fault) this.#tellFault(slot.fault);
    }
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
    slot.growth.replaced();
    const now = this.#now();
    const { state, delayMs } = this.#restarts.next(exit, now);
    slot.fault = state === 'faulted' ? faultOf(error) : undefined;
    if (slot.successor) {
      // The replacement is further than a new start would be.
      slot.active = slot.successor;
      slot.successor = undefined;
    } else slot.startAt = now + delayMs;
  }

  /** Without a model load, when a spare is ready. */
  #takeOver(slot: RunnerSlot): void {
    for (const { active } of this.#spares) {
      const member = active && this.#members.get(active.id);
      if (!member?.ready || !active?.takesWork) continue;
      this.#promote(member, slot);
      return;
    }
  }

  /** A variant is at fault while a runner is and none works. */
  #tellFault(fault: GimbalError | undefined): void {
    const works = [...this.#members.values()].some(({ runner, isTold }) => isTold && runner.takesWork);
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
    for (const { runner } of [...this.#members.values()]) {
      runner.tick(now, stalledMs);
      if (now >= this.#killAt) runner.kill(outOfGrace());
    }
    if (now - this.#kernelLookedAt >= KERNEL_LOOK_MS) {
      this.#kernelLookedAt = now;
      this.#kernel.look();
    }
    this.#turns.endOverdue(now);
    if (this.#stopping) return;
    this.#fill(now);
    this.#recycle(now);
  }

  /** Empty slots whose time has come; spares only once all others work, and not in their way. */
  #fill(now: Instant): void {
    const allWork = this.#slots.every(({ active }) => active && this.#members.get(active.id)?.isTold);
    const isDue = ({ active, isQueued, startAt = now }: RunnerSlot) => !active && !isQueued && now >= startAt;
    const due = (allWork ? this.#spares : this.#slots).filter(isDue);
    for (const slot of due) {
      this.#launchInTurn(
        slot,
        () => !slot.active,
        (runner) => {
          slot.active = runner;
        },
      );
    }
  }

  /** One at a time: a replacement needs the memory of a second runner. */
  #recycle(now: Instant): void {
    if (this.#stopping || now < this.#recycleNotBefore) return;
    let due: { slot: RunnerSlot; old: RunnerProcess; because: string } | undefined;
    for (const slot of this.#slots) {
      const { active, successor, leaving, isQueued } = slot;
      if (successor || leaving.size > 0 || isQueued) return;
      if (due || !active?.takesWork || !this.#members.get(active.id)?.isTold) continue;
      const mayGrow = now < this.#growthRecycleNotBefore;
      const because = wornBecause({ slot, runner: active, limits: this.#options.spec.runners, mayGrow }, now);
      if (because !== undefined) due = { slot, old: active, because };
    }
    if (due) this.#replace(due);
  }

  #replace({ slot, old, because }: { slot: RunnerSlot; old: RunnerProcess; because: string }): void {
    if (slot.growth.worn) this.#growthRecycleNotBefore = this.#now() + this.#limits.growthRecycleMs;
    this.#options.events.onNotice?.({ kind: 'recycling', runner: old.id, because });
    this.#launchInTurn(
      slot,
      () => slot.active === old && old.takesWork,
      (runner) => {
        slot.successor = runner;
      },
    );
  }

  /** Later: it is said inside the call that starts the process. */
  #onLimitation(because: string): void {
    if (this.#limitations.has(because)) return;
    this.#limitations.add(because);
    void Promise.resolve().then(() => this.#options.events.onNotice?.({ kind: 'limitation', because }));
  }

  #runnerOf(batchId: number): RunnerProcess | undefined {
    for (const { runner } of this.#members.values()) if (runner.batchId === batchId) return runner;
    return undefined;
  }

  #memberOf(runner: RunnerProcess): Member {
    const found = this.#members.get(runner.id);
    assert(found, 'a process belongs to a slot');
    return found;
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

function outOfGrace(): RunnerLoss {
  return {
    error: new GimbalError('DRAINING', 'Cannot answer: the runner was stopped before the batch was finished'),
    end: { cause: 'stopped' },
  };
}

function drillsAreOff(): GimbalError {
  return new GimbalError(
    'PERMISSION_DENIED',
    'Cannot inject a fault: drills are off, expected "drills: true" in the configuration',
  );
}
