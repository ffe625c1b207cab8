import { readFileSync } from 'node:fs';

/** Files that this process may have open; undefined where the system does not say. */
export function readMaxOpenFiles(): number | undefined {
  try {
    const soft = Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]);
    return Number.isSafeInteger(soft) ? soft : undefined;
  } catch {
    return undefined;
  }
}
