import { GimbalError } from '@gimbal/core';
import type { Arena } from './arena.ts';
import { HeapArena } from './heap-arena.ts';
import { SharedArena } from './shared-arena.ts';

/** Capacities are whole memory pages. */
const PAGE_BYTES = 4096;

export interface OpenedArena {
  readonly arena: Arena;
  /** Why memory can't be shared here, for `doctor` and the log; undefined when it is, or when nobody asked. */
  readonly reason: string | undefined;
}

/**
 * An arena of at least `capacity` bytes. `auto` shares memory where that works and falls back to the host's own memory;
 * `shared` fails with UNSUPPORTED where it does not.
 */
export function openArena(capacity: number, kind: 'auto' | 'shared' | 'heap' = 'auto'): OpenedArena {
  const rounded = Math.max(1, Math.ceil(capacity / PAGE_BYTES)) * PAGE_BYTES;
  if (kind === 'heap') return { arena: new HeapArena(rounded), reason: undefined };
  try {
    return { arena: new SharedArena(rounded), reason: undefined };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (kind === 'auto') return { arena: new HeapArena(rounded), reason };
    throw new GimbalError('UNSUPPORTED', `Cannot share memory with runners: ${reason}`, { cause: error });
  }
}
