import type { GimbalError, Instant, RunnerView } from '@gimbal/core';
import { GrowthWatch } from './growth-watch.ts';
import type { RunnerProcess } from './runner-process.ts';

/** A place of a pool, and the processes that fill it one after another. */
export interface RunnerSlot {
  /** First part of its processes' ids within the variant. */
  readonly name: string;
  /** Its process takes no work; it takes another slot when that has lost its own. */
  readonly isSpare: boolean;
  /** Counts the processes of this slot; part of their ids. */
  generation: number;
  /** Unplanned ends. */
  restarts: number;
  /** The process that takes work, or is on its way to. */
  active: RunnerProcess | undefined;
  /** The replacement that is loading while `active` still works (recycling). */
  successor: RunnerProcess | undefined;
  /** Replaced, finishing their last batch. */
  readonly leaving: Set<RunnerProcess>;
  /** When there is no active process: when to start the next. */
  startAt: Instant | undefined;
  /** It waits for its turn to load. */
  isQueued: boolean;
  /** When there is no active process: why it is only probed. */
  fault: GimbalError | undefined;
  /** How the slot looked when its last process went. */
  last: RunnerView | undefined;
  /** Memory of the active process. */
  readonly growth: GrowthWatch;
}

export function emptySlot(name: string, isSpare = false): RunnerSlot {
  return {
    name,
    isSpare,
    generation: 0,
    restarts: 0,
    active: undefined,
    successor: undefined,
    leaving: new Set(),
    startAt: undefined,
    isQueued: false,
    fault: undefined,
    last: undefined,
    growth: new GrowthWatch(),
  };
}

export function processesOf(slot: RunnerSlot): readonly RunnerProcess[] {
  return [slot.active, slot.successor, ...slot.leaving].filter((runner) => runner !== undefined);
}

/** Views of a slot's processes; of an empty one, how it waits for the next. */
export function viewsOf(slot: RunnerSlot): readonly RunnerView[] {
  const views = processesOf(slot).map((runner) => runner.view(slot.restarts));
  if (!slot.active && slot.last) {
    const state = slot.fault ? 'faulted' : 'backoff';
    views.unshift({ ...slot.last, pid: undefined, residentBytes: 0, restarts: slot.restarts, state });
  }
  return slot.isSpare ? views.map((view) => ({ ...view, spare: true })) : views;
}
