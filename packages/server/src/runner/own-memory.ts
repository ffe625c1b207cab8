import { readFileSync } from 'node:fs';

const PAGE_BYTES = 4096;

/**
 * Memory that is this process's own, in bytes: the arena, which is mapped by many, does not count. Elsewhere than on
 * Linux `fallback` is asked.
 */
export function ownMemoryBytes(fallback: () => number): number {
  try {
    const fields = readFileSync('/proc/self/statm', 'latin1').split(' ');
    const resident = Number(fields[1]);
    const shared = Number(fields[2]);
    const own = (resident - shared) * PAGE_BYTES;
    return Number.isFinite(own) ? own : fallback();
  } catch {
    return fallback();
  }
}
