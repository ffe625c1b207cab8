import type { GimbalError, Instant, RunnerView } from '@gimbal/core';
import type { RunnerProcess } from './runner-process.ts';

/** A place of a pool, and the processes that fill it one after another. */
export interface RunnerSlot {
  readonly index: number;
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
  /** When there is no active process: why it is only probed. */
  fault: GimbalError | undefined;
  /** How the slot looked when its last process went. */
  last: RunnerView | undefined;
}

export function emptySlot(index: number): RunnerSlot {
  return {
    index,
    generation: 0,
    restarts: 0,
    active: undefined,
    successor: undefined,
    leaving: new Set(),
    startAt: undefined,
    fault: undefined,
    last: undefined,
  };
}

export function processesOf(slot: RunnerSlot): readonly RunnerProcess[] {
  return [slot.active, slot.successor, ...slot.leaving].filter((runner) => runner !== undefined);
}

/** Views of a slot's processes; of an empty one, how it waits for the next. */
export function viewsOf(slot: RunnerSlot): readonly RunnerView[] {
  const running = processesOf(slot).map((runner) => runner.view(slot.restarts));
  if (slot.active || !slot.last) return running;
  const state = slot.fault ? 'faulted' : 'backoff';
  return [{ ...slot.last, pid: undefined, residentBytes: 0, restarts: slot.restarts, state }, ...running];
}
