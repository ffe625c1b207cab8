import type { Instant } from '../base/time.ts';
import type { Criticality } from '../contract/inference-port.ts';
import type { GimbalError } from '../errors/gimbal-error.ts';
import { Arriving } from './arriving.ts';
import { Pool, type PoolOptions } from './pool.ts';
import { LANES } from './queue.ts';
import { loading, unavailable } from './refusal.ts';
import { WaitSlip } from './wait-slip.ts';
import type { Work } from './work.ts';

/** Where no arena bounds the memory of works sooner. */
const MAX_QUEUED_BYTES = 256 * 1024 * 1024;

export interface EngineVersionOptions {
  readonly version: string;
  /** Memory that works may hold until they end, over all rungs. Default: 256 MiB. */
  readonly maxQueuedBytes?: number;
  /**
   * Batches that run at once over all rungs, where they share the same processor: rungs beside each other would only slow
   * each other down. Default: as many as there are runners.
   */
  readonly maxRunning?: number;
  /** One for each variant, best first. */
  readonly pools: readonly Omit<PoolOptions, 'version' | 'rung'>[];
}

/** One served version: its pools, best first, and which of them takes the next work. */
export class VersionLadder<Payload> {
  readonly version: string;
  readonly pools: readonly Pool<Payload>[];
  readonly maxQueuedBytes: number;
  readonly slip = new WaitSlip();
  readonly arriving = new Arriving();
  readonly #maxRunning: number;
  /** Memory held by the works that have not ended, queued or running. */
  openBytes = 0;
  /** No new works are taken. */
  removing = false;
  /** Why a rung's variant can't run; undefined while it starts or serves. */
  readonly #faults: (GimbalError | undefined)[];

  constructor(options: EngineVersionOptions) {
    this.version = options.version;
    this.maxQueuedBytes = options.maxQueuedBytes ?? MAX_QUEUED_BYTES;
    this.#maxRunning = options.maxRunning ?? Number.POSITIVE_INFINITY;
    this.pools = options.pools.map(
      (pool, rung) => new Pool<Payload>({ ...pool, version: options.version, rung }),
    );
    this.#faults = this.pools.map(() => undefined);
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

  /** Whether rungs share the processor. */
  get #shared(): boolean {
    return this.#maxRunning < Number.POSITIVE_INFINITY && this.pools.length > 1;
  }

  setFault(rung: number, fault: GimbalError | undefined): void {
    this.#faults[rung] = fault;
  }

  /**
   * The best rung with a runner. While none has one, the best that had one and will have one again: a crash costs the
   * works behind it a wait, not a refusal. Shares of a degraded ladder and breakers have their place here.
   */
  route(): Pool<Payload> | GimbalError {
    for (const pool of this.pools) if (pool.serving > 0) return pool;
    let starting = false;
    for (const pool of this.pools) {
      if (this.#faults[pool.options.rung] !== undefined) continue;
      if (pool.proven) return pool;
      starting = true;
    }
    return starting ? loading() : unavailable(this.#faults.find((fault) => fault !== undefined));
  }

  /**
   * Works that wait for a variant without runners move to a rung that serves; returns the pool that got some. One that
   * has run in part stays: its rows must not come from two variants.
   */
  rehome(): Pool<Payload> | undefined {
    let target: Pool<Payload> | undefined;
    for (const pool of this.pools) {
      if (!pool.stranded) continue;
      target ??= this.pools.find(({ serving }) => serving > 0);
      if (!target) return undefined;
      for (const work of pool.queue.takeAll()) (work.nextRow > 0 ? pool : target).join(work);
    }
    return target;
  }

  /** Empties all queues, for works that can't be run any more. */
  takeAll(): Work<Payload>[] {
    return this.pools.flatMap((pool) => pool.queue.takeAll());
  }
}

function nothingWaits(pool: Pool<unknown>): boolean {
  return pool.queue.works === 0;
}
