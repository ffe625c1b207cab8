import { type Clock, type FaultOrder, GimbalError, type Instant } from '@gimbal/core';
import { type Fault, type FaultRequest, type FaultTarget, isRunnerFault } from './fault.ts';

/** Faults at one time: a drill needs one or two, and nobody could tell apart what more of them do. */
const MAX_FAULTS = 32;
/** Faults that have ended and are still shown. */
const MAX_ENDED = 32;
/** How long a runner that has just become ready works unbroken. */
const SWEEP_EVERY_MS = 100;

/** A runner that can be broken. */
export interface BreakableRunner {
  readonly model: string;
  readonly version: string;
  readonly variant: string;
  readonly id: string;
  readonly pid: number | undefined;
  /** It can take work, or is at it. */
  readonly serves: boolean;
  inject(order: FaultOrder): void;
  relieve(order: FaultOrder): void;
}

export interface FaultBoardOptions {
  /** `drills` of the configuration. */
  readonly enabled: boolean;
  readonly clock: Clock;
  /** All runners that there are now. */
  readonly runners: () => readonly BreakableRunner[];
  /** A fault begins or ends: for the log, so that nobody looks for a cause that was a drill. */
  readonly onChange?: (change: FaultChange) => void;
}

export interface FaultChange {
  readonly kind: 'injected' | 'ended';
  readonly fault: FaultView;
}

/** One fault as operators see it. */
export interface FaultView {
  readonly id: number;
  readonly fault: Fault;
  readonly target: FaultTarget;
  readonly state: 'active' | 'expired' | 'cleared';
  /** Milliseconds since the Unix epoch. */
  readonly startedWallTimeMs: number;
  readonly durationMs: number;
  /** `model/version/id` of the runners that have got it, in order; bounded. */
  readonly runners: readonly string[];
}

interface ActiveFault {
  readonly id: number;
  readonly request: FaultRequest;
  readonly startedWallTimeMs: number;
  readonly endsAt: Instant;
  readonly order: FaultOrder | undefined;
  /** Names by keys. */
  readonly reached: Map<string, string>;
}

/**
 * What is broken on purpose now. Faults of runners reach those that are restarted meanwhile as well, since a broken
 * device stays broken; all of them end by themselves, so that a drill whose operator went away harms nobody for long.
 */
export class FaultBoard {
  readonly #options: FaultBoardOptions;
  readonly #active = new Map<number, ActiveFault>();
  #ended: FaultView[] = [];
  #lastId = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: FaultBoardOptions) {
    this.#options = options;
  }

  get enabled(): boolean {
    return this.#options.enabled;
  }

  /** Newest first: those that are active, then some that have ended. */
  get views(): readonly FaultView[] {
    this.#expire();
    const active = [...this.#active.values()].map((fault) => viewOf(fault, 'active'));
    return [...active.reverse(), ...this.#ended];
  }

  /**
   * Breaks something from now on. Throws PERMISSION_DENIED where drills are off, MODEL_NOT_FOUND when no runner fits, and
   * OVERLOADED when too much is broken already.
   */
  inject(request: FaultRequest): FaultView {
    this.#requireDrills();
    this.#expire();
    if (this.#active.size >= MAX_FAULTS) throw tooMany();
    const { clock } = this.#options;
    const { fault, durationMs, batches } = request;
    const isForRunners = isRunnerFault(fault);
    if (isForRunners && this.#fitting(request.target).length === 0) throw nobodyFits(request.target);
    this.#lastId += 1;
    const active: ActiveFault = {
      id: this.#lastId,
      request,
      startedWallTimeMs: clock.wallTimeMs(),
      endsAt: clock.now() + durationMs,
      order: isForRunners ? { id: this.#lastId, fault, batches, durationMs } : undefined,
      reached: new Map(),
    };
    this.#active.set(active.id, active);
    this.#reach(active);
    const view = viewOf(active, 'active');
    this.#options.onChange?.({ kind: 'injected', fault: view });
    // A kill is over when it is done: a runner that comes back lives.
    if (fault.kind === 'kill') this.#end(active, 'expired');
    this.#watch();
    return view;
  }

  /** Ends one fault, or all. Throws PERMISSION_DENIED where drills are off. Gives how many have ended. */
  clear(id?: number): number {
    this.#requireDrills();
    this.#expire();
    const chosen = [...this.#active.values()].filter((fault) => id === undefined || fault.id === id);
    for (const fault of chosen) this.#end(fault, 'cleared');
    return chosen.length;
  }

  /** Whether writes to disk are refused now. */
  get isDiskFull(): boolean {
    if (this.#active.size === 0) return false;
    this.#expire();
    return [...this.#active.values()].some(({ request }) => request.fault.kind === 'disk-full');
  }

  /** Ends all faults, for the end of the host. */
  close(): void {
    for (const fault of [...this.#active.values()]) this.#end(fault, 'cleared');
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Only while something is broken. */
  #watch(): void {
    if (this.#active.size === 0 || this.#timer) return;
    this.#timer = setInterval(() => this.#sweep(), SWEEP_EVERY_MS).unref();
  }

  #sweep(): void {
    this.#expire();
    for (const fault of this.#active.values()) this.#reach(fault);
    if (this.#active.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #expire(): void {
    const now = this.#options.clock.now();
    for (const fault of [...this.#active.values()]) {
      if (now >= fault.endsAt) this.#end(fault, 'expired');
    }
  }

  /** Breaks the runners that the fault is for and that do not have it yet. */
  #reach({ request, order, reached, endsAt }: ActiveFault): void {
    if (!order) return;
    const now = this.#options.clock.now();
    for (const runner of this.#fitting(request.target)) {
      // Also those that are gone count: a runner that crashes at once would else make the list endless.
      if (reached.size >= request.runners) return;
      if (reached.has(keyOf(runner)) || !runner.serves) continue;
      reached.set(keyOf(runner), `${runner.model}/${runner.version}/${runner.id}`);
      runner.inject({ ...order, durationMs: Math.max(0, endsAt - now) });
    }
  }

  #end(fault: ActiveFault, state: 'expired' | 'cleared'): void {
    const { id, order, reached } = fault;
    this.#active.delete(id);
    const view = viewOf(fault, state);
    this.#ended = [view, ...this.#ended].slice(0, MAX_ENDED);
    if (order) {
      for (const runner of this.#options.runners()) if (reached.has(keyOf(runner))) runner.relieve(order);
    }
    this.#options.onChange?.({ kind: 'ended', fault: view });
  }

  #fitting(target: FaultTarget): readonly BreakableRunner[] {
    return this.#options.runners().filter((runner) => fits(runner, target));
  }

  #requireDrills(): void {
    if (this.enabled) return;
    throw new GimbalError(
      'PERMISSION_DENIED',
      'Cannot inject a fault: drills are off, expected "drills: true" in the configuration (or --drills)',
    );
  }
}

/** Ids are unique within one load of a version, process ids only among those that live. */
function keyOf({ id, pid }: BreakableRunner): string {
  return `${id} ${pid ?? ''}`;
}

function fits(runner: BreakableRunner, { model, version, variant, runner: named }: FaultTarget): boolean {
  return (
    (model === undefined || model === runner.model) &&
    (version === undefined || version === runner.version) &&
    (variant === undefined || variant === runner.variant) &&
    (named === undefined || named === runner.id || named === String(runner.pid))
  );
}

function viewOf(
  { id, request, startedWallTimeMs, reached }: ActiveFault,
  state: FaultView['state'],
): FaultView {
  const { fault, target, durationMs } = request;
  return { id, fault, target, state, startedWallTimeMs, durationMs, runners: [...reached.values()] };
}

function nobodyFits(target: FaultTarget): GimbalError {
  const named = Object.entries(target).map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  const what = named.length === 0 ? 'any runner' : named.join(', ');
  return new GimbalError(
    'MODEL_NOT_FOUND',
    `Cannot inject a fault: no runner fits ${what}, expected one of GET /admin/v1/runners`,
  );
}

function tooMany(): GimbalError {
  return new GimbalError(
    'OVERLOADED',
    `Cannot inject a fault: ${MAX_FAULTS} are active, expected fewer; clear some first`,
    { retryAfterMs: 1000 },
  );
}
