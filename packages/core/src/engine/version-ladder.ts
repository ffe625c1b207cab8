import type { Random } from '../base/random.ts';
import { type Instant, NEVER } from '../base/time.ts';
import type { Criticality } from '../contract/inference-port.ts';
import { DEFAULT_STREAM_LIMITS, type StreamLimits } from '../contract/stream.ts';
import type { DegradationReason } from '../contract/work.ts';
import type { GimbalError } from '../errors/gimbal-error.ts';
import type { BreakerWeight } from '../errors/registry.ts';
import { Breaker, type BreakerTicket } from '../policy/breaker/breaker.ts';
import { LadderController } from '../policy/ladder/ladder-controller.ts';
import { Arriving } from './arriving.ts';
import { LadderDemand } from './ladder-demand.ts';
import { Pool, type PoolOptions } from './pool.ts';
import { LANES } from './queue.ts';
import { bestUnavailable, loading, unavailable } from './refusal.ts';
import { WaitSlip } from './wait-slip.ts';
import type { QualityDemand, Work } from './work.ts';

/** Where no arena bounds the memory of works sooner. */
const MAX_QUEUED_BYTES = 256 * 1024 * 1024;
/** How often shares are decided anew. */
const STEP_MS = 200;

export interface EngineVersionOptions {
  readonly version: string;
  /** Memory that works may hold until they end, over all rungs. Default: 256 MiB. */
  readonly maxQueuedBytes?: number;
  /**
   * Batches that run at once over all rungs, where they share the same processor: rungs beside each other would only slow
   * each other down. Default: as many as there are runners.
   */
  readonly maxRunning?: number;
  /** Bounds of its streams. Default: those of the contract. */
  readonly stream?: Pick<StreamLimits, 'maxDurationMs' | 'maxBytes'>;
  /** One for each variant, best first. */
  readonly pools: readonly Omit<PoolOptions, 'version' | 'rung'>[];
}

/** One served version: its pools, best first, and which of them takes the next work. */
export class VersionLadder<Payload> {
  readonly version: string;
  readonly pools: readonly Pool<Payload>[];
  readonly maxQueuedBytes: number;
  readonly stream: Pick<StreamLimits, 'maxDurationMs' | 'maxBytes'>;
  readonly slip = new WaitSlip();
  readonly arriving = new Arriving();
  /** What is asked for, from which the shares follow. */
  readonly demand = new LadderDemand();
  /** Decides the shares of the rungs. */
  readonly controller: LadderController;
  readonly #maxRunning: number;
  #steppedAt: Instant = -Infinity;
  /** Memory held by the works that have not ended, queued or running. */
  openBytes = 0;
  /** No new works are taken. */
  removing = false;
  /** Why a rung's variant can't run; undefined while it starts or serves. */
  readonly #faults: (GimbalError | undefined)[];

  /** One for each rung; they matter only where there is another rung to go to. */
  readonly #breakers: readonly Breaker[];
  #now: Instant = 0;

  constructor(options: EngineVersionOptions, random: Random) {
    this.version = options.version;
    this.maxQueuedBytes = options.maxQueuedBytes ?? MAX_QUEUED_BYTES;
    this.stream = options.stream ?? DEFAULT_STREAM_LIMITS;
    this.#maxRunning = options.maxRunning ?? Number.POSITIVE_INFINITY;
    this.pools = options.pools.map(
      (pool, rung) => new Pool<Payload>({ ...pool, version: options.version, rung }),
    );
    this.controller = new LadderController(this.pools.length);
    this.#faults = this.pools.map(() => undefined);
    this.#breakers = this.pools.map((pool) => {
      const breaker = new Breaker(random);
      pool.ticket = () => breaker.ticket;
      return breaker;
    });
  }

  get empty(): boolean {
    for (const pool of this.pools) if (!pool.empty) return false;
    return true;
  }

  get serving(): boolean {
    for (const pool of this.pools) if (pool.serving > 0) return true;
    return false;
  }

  /** Whether another batch may start. */
  get hasSlot(): boolean {
    if (this.#maxRunning === Number.POSITIVE_INFINITY) return true;
    let running = 0;
    for (const pool of this.pools) running += pool.runningBatches;
    return running < this.#maxRunning;
  }

  /** Batches of the pool that run at once. */
  slotsOf(pool: Pool<Payload>): number {
    return Math.min(pool.serving, this.#maxRunning);
  }

  /** Whether a new work would start at once. */
  isIdle(pool: Pool<Payload>): boolean {
    return pool.idle && this.hasSlot && (!this.#shared || this.pools.every(nothingWaits));
  }

  /**
   * Wait for a runner behind so many units of the pool. Where rungs share the processor, what runs and waits on the others
   * in the same lane or a higher one is served meanwhile. While all runners are away, as if one came back at once.
   */
  waitMs(
    pool: Pool<Payload>,
    units: number,
    of: { readonly lane: Criticality; readonly now: Instant },
  ): number {
    let ms = pool.queuedMs(units) + pool.remainingMs(of.now);
    if (this.#shared) {
      for (const other of this.pools) {
        if (other === pool) continue;
        ms += other.remainingMs(of.now) + other.queuedMs(other.queue.unitsUpTo(of.lane));
      }
    }
    return ms / Math.max(1, this.slotsOf(pool));
  }

  /** The pool whose front work is served next, of those that could start one. */
  *inOrder(): Iterable<Pool<Payload>> {
    if (this.pools.length === 1) {
      yield* this.pools;
      return;
    }
    const fronts = this.pools.flatMap((pool) => {
      const front = pool.queue.front();
      return front ? [{ pool, lane: LANES.indexOf(front.lane), urgency: front.urgency }] : [];
    });
    fronts.sort((one, other) => one.lane - other.lane || one.urgency - other.urgency);
    for (const { pool } of fronts) yield pool;
  }

  setFault(rung: number, fault: GimbalError | undefined): void {
    this.#faults[rung] = fault;
  }

  /** Why a rung gets no new works; undefined when it does. */
  closedBecause(rung: number): string | undefined {
    const pool = this.pools[rung];
    if (!pool || pool.serving === 0) return 'unavailable';
    return this.pools.length > 1 && !this.#breakers[rung]?.allows(this.#now) ? 'breaker open' : undefined;
  }

  /** A batch of the rung has ended: undefined for one of which something was answered. */
  ended(of: { rung: number; ticket: BreakerTicket }, failure: BreakerWeight | undefined, now: Instant): void {
    this.#breakers[of.rung]?.ended(of.ticket, failure, now);
  }

  /** Rungs that want a golden input now. */
  takeProbes(now: Instant): readonly { readonly rung: number; readonly ticket: BreakerTicket }[] {
    if (this.pools.length === 1) return [];
    return this.#breakers.flatMap((breaker, rung) => {
      const ticket = (this.pools[rung]?.serving ?? 0) > 0 ? breaker.takeProbe(now) : undefined;
      return ticket === undefined ? [] : [{ rung, ticket }];
    });
  }

  /** When `takeProbes` may have something; NEVER for not at all. */
  probesDueAt(now: Instant): Instant {
    let dueAt = NEVER;
    if (this.pools.length === 1) return dueAt;
    for (const [rung, breaker] of this.#breakers.entries()) {
      if ((this.pools[rung]?.serving ?? 0) > 0) dueAt = Math.min(dueAt, breaker.dueAt(now) ?? NEVER);
    }
    return dueAt;
  }

  probed(of: { rung: number; ticket: BreakerTicket }, isGood: boolean, now: Instant): void {
    this.#breakers[of.rung]?.probed(of.ticket, isGood, now);
  }

  /** `closed` is healthy. */
  breakerState(rung: number): string {
    return this.#breakers[rung]?.state(this.#now).kind ?? 'closed';
  }

  /** Counts what is asked for, once for each work. */
  ask({ quality, rows, costClass }: { quality: QualityDemand; rows: number; costClass: number }): void {
    const [best] = this.pools;
    if (quality === 'any') this.demand.asked(rows);
    else if (best) this.demand.pinned(best.ownMs({ rows, costClass }));
  }

  /** Decides the shares anew, when it is time. */
  control(now: Instant): void {
    this.#now = Math.max(this.#now, now);
    if (this.pools.length === 1 || now - this.#steppedAt < STEP_MS) return;
    this.#steppedAt = now;
    const slots = Math.min(this.#maxRunning, Math.max(...this.pools.map(({ serving }) => serving)));
    this.controller.step(
      {
        ...this.demand.read(now),
        slots,
        rowMs: this.pools.map(({ usualRowMs }) => usualRowMs),
        available: this.pools.map((_, rung) => this.closedBecause(rung) === undefined),
      },
      now,
    );
  }

  /**
   * The pools to offer a work to, in order: by the shares of the ladder, then lower rungs, which may still be in time.
   * While no rung has a runner, the best that had one and will have one again: a crash costs the works behind it a wait,
   * not a refusal.
   */
  route(quality: QualityDemand): readonly Pool<Payload>[] | GimbalError {
    const [best] = this.pools;
    if (!best) return unavailable(undefined);
    if (this.pools.length > 1 && quality === 'best-only' && !this.#mayServe(best)) return bestUnavailable();
    if (!this.serving) return this.#routeWithoutRunners();
    if (this.pools.length === 1) return this.pools;
    switch (quality) {
      case 'best-only':
        return [best];
      case 'best-first':
        return this.#takingWork().slice(0, 1);
      case 'any': {
        const picked = this.controller.pick();
        return this.#takingWork().filter((_, index, pools) => (pools[index]?.options.rung ?? 0) >= picked);
      }
    }
  }

  /** Where a work may be run again that failed on this pool for no fault of its own: lower rungs first. */
  elsewhere(pool: Pool<Payload>, quality: QualityDemand): Pool<Payload> | undefined {
    if (quality !== 'best-only') {
      const { rung } = pool.options;
      const others = this.#takingWork().filter((other) => other !== pool);
      const other = others.find(({ options }) => options.rung > rung) ?? others.at(-1);
      if (other) return other;
    }
    return pool.serving > 1 ? pool : undefined;
  }

  /** Why the pool is not the best one. */
  degradation(pool: Pool<Payload>): DegradationReason | undefined {
    if (pool.options.rung === 0) return undefined;
    if (this.controller.isPinned) return 'pinned';
    switch (this.closedBecause(0)) {
      case undefined:
        return 'overload';
      case 'breaker open':
        return 'breaker';
      default:
        return 'unavailable';
    }
  }

  /**
   * Works that wait for a variant without runners move to a rung that serves; returns the pool that got some. One that
   * has run in part stays, since its rows must not come from two variants, and so does one that insists on its rung.
   */
  rehome(): Pool<Payload> | undefined {
    let target: Pool<Payload> | undefined;
    for (const pool of this.pools) {
      if (!pool.stranded) continue;
      target ??= this.pools.find(({ serving }) => serving > 0);
      if (!target) return undefined;
      for (const work of pool.queue.takeAll()) {
        const stays = work.nextRow > 0 || work.again.length > 0 || work.quality === 'best-only';
        if (!stays) work.degradedBecause = this.degradation(target);
        (stays ? pool : target).join(work);
      }
    }
    return target;
  }

  /** Empties all queues, for works that can't be run any more. */
  takeAll(): Work<Payload>[] {
    return this.pools.flatMap((pool) => pool.queue.takeAll());
  }

  /** Pools whose runners take work and whose breakers are closed; where all are open, those with runners. */
  #takingWork(): readonly Pool<Payload>[] {
    const open = this.pools.filter((_, rung) => this.closedBecause(rung) === undefined);
    return open.length > 0 ? open : this.pools.filter(({ serving }) => serving > 0);
  }

  #routeWithoutRunners(): readonly Pool<Payload>[] | GimbalError {
    let starting = false;
    for (const pool of this.pools) {
      if (this.#faults[pool.options.rung] !== undefined) continue;
      if (pool.proven) return [pool];
      starting = true;
    }
    return starting ? loading() : unavailable(this.#faults.find((fault) => fault !== undefined));
  }

  /** Has a runner, or had one and will have one again. */
  #mayServe(pool: Pool<Payload>): boolean {
    return pool.serving > 0 || (pool.proven && this.#faults[pool.options.rung] === undefined);
  }

  /** Whether rungs share the processor. */
  get #shared(): boolean {
    return this.#maxRunning < Number.POSITIVE_INFINITY && this.pools.length > 1;
  }
}

function nothingWaits(pool: Pool<unknown>): boolean {
  return pool.queue.works === 0;
}
