import type { GimbalError } from '../errors/gimbal-error.ts';
import { Pool, type PoolOptions } from './pool.ts';
import { loading, unavailable } from './refusal.ts';
import type { Work } from './work.ts';

/** Where no arena bounds the memory of waiting works sooner. */
const MAX_QUEUED_BYTES = 256 * 1024 * 1024;

export interface EngineVersionOptions {
  readonly version: string;
  /** Memory that waiting works may hold, over all rungs. Default: 256 MiB. */
  readonly maxQueuedBytes?: number;
  /** One for each variant, best first. */
  readonly pools: readonly Omit<PoolOptions, 'version' | 'rung'>[];
}

/** One served version: its pools, best first, and which of them takes the next work. */
export class VersionLadder<Payload> {
  readonly version: string;
  readonly pools: readonly Pool<Payload>[];
  readonly maxQueuedBytes: number;
  /** No new works are taken. */
  removing = false;
  /** Why a rung's variant can't run; undefined while it starts or serves. */
  readonly #faults: (GimbalError | undefined)[];

  constructor(options: EngineVersionOptions) {
    this.version = options.version;
    this.maxQueuedBytes = options.maxQueuedBytes ?? MAX_QUEUED_BYTES;
    this.pools = options.pools.map(
      (pool, rung) => new Pool<Payload>({ ...pool, version: options.version, rung }),
    );
    this.#faults = this.pools.map(() => undefined);
  }

  get empty(): boolean {
    for (const pool of this.pools) if (!pool.empty) return false;
    return true;
  }

  /** Memory held by the works that wait, on any rung. */
  get queuedBytes(): number {
    let bytes = 0;
    for (const pool of this.pools) bytes += pool.queue.bytes;
    return bytes;
  }

  get serving(): boolean {
    for (const pool of this.pools) if (pool.serving > 0) return true;
    return false;
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
