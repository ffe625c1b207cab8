import {
  type BatchReport,
  GimbalError,
  type PoolEvents,
  type RunnerReady,
  type RunnerView,
} from '@gimbal/core';

/** A place for one batch at a remote engine: a runner to the engine. */
export interface RemoteSlot {
  readonly id: string;
  state: 'ready' | 'busy' | 'retiring';
  /** The batch it has, and how to call it off. */
  batch: { readonly id: number; readonly controller: AbortController } | undefined;
  batches: number;
}

/** The slots of a pool: as many as are wanted, told to the host as runners that come and go. */
export class RemoteSlots {
  readonly #events: PoolEvents;
  readonly #name: string;
  readonly #slots = new Map<string, RemoteSlot>();
  #made = 0;

  constructor(name: string, events: PoolEvents) {
    this.#name = name;
    this.#events = events;
  }

  get size(): number {
    return this.#slots.size;
  }

  get busy(): number {
    let busy = 0;
    for (const slot of this.#slots.values()) if (slot.batch) busy += 1;
    return busy;
  }

  get views(): readonly RunnerView[] {
    return [...this.#slots.values()].map(({ id, state, batches }) => ({
      id,
      pid: undefined,
      state,
      device: 'remote',
      restarts: 0,
      batches,
      residentBytes: 0,
      transport: 'socket',
    }));
  }

  find(id: string): RemoteSlot | undefined {
    return this.#slots.get(id);
  }

  withBatch(batchId: number): RemoteSlot | undefined {
    for (const slot of this.#slots.values()) if (slot.batch?.id === batchId) return slot;
    return undefined;
  }

  /** Brings the number of slots that take work to what is wanted. */
  resize(wanted: number, ready: RunnerReady, error: GimbalError): void {
    let taking = 0;
    for (const { state } of this.#slots.values()) if (state !== 'retiring') taking += 1;
    for (; taking < wanted; taking += 1) this.#open(ready);
    if (taking <= wanted) return;
    const inOrder = [...this.#slots.values()].filter(({ state }) => state !== 'retiring');
    inOrder.sort((left, right) => Number(left.batch !== undefined) - Number(right.batch !== undefined));
    for (const slot of inOrder.slice(0, taking - wanted)) this.#retire(slot, error);
  }

  retireAll(error: GimbalError): void {
    for (const slot of [...this.#slots.values()]) if (slot.state !== 'retiring') this.#retire(slot, error);
  }

  /** A slot is gone with whatever it had. */
  lose(slot: RemoteSlot, error: GimbalError): void {
    if (!this.#slots.delete(slot.id)) return;
    slot.batch = undefined;
    this.#events.onLost(slot.id, error, { cause: 'stopped' });
  }

  loseAll(error: GimbalError): void {
    for (const slot of [...this.#slots.values()]) {
      slot.batch?.controller.abort();
      this.lose(slot, error);
    }
  }

  /** Tells a batch's report; a slot that was only waiting for it is gone then. */
  report(slot: RemoteSlot, report: BatchReport): void {
    const { batch } = slot;
    if (batch === undefined || !this.#slots.has(slot.id)) {
      report.release();
      return;
    }
    slot.batch = undefined;
    if (slot.state === 'busy') slot.state = 'ready';
    this.#events.onReport(slot.id, batch.id, report);
    if (slot.state === 'retiring') this.lose(slot, retired());
  }

  #open(ready: RunnerReady): void {
    this.#made += 1;
    const slot: RemoteSlot = {
      id: `${this.#name}-remote.${this.#made}`,
      state: 'ready',
      batch: undefined,
      batches: 0,
    };
    this.#slots.set(slot.id, slot);
    this.#events.onReady(slot.id, ready);
  }

  #retire(slot: RemoteSlot, error: GimbalError): void {
    if (slot.batch === undefined) {
      this.lose(slot, error);
      return;
    }
    slot.state = 'retiring';
    this.#events.onRetiring(slot.id);
  }
}

/** What an idle slot ends with that is only one too many. */
export function retired(): GimbalError {
  return new GimbalError('DRAINING', 'Cannot answer: fewer batches run at the remote engine at once now');
}
