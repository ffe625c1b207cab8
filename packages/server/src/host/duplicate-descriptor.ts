import { openLibc } from '../transport/libc.ts';

/** F_DUPFD_CLOEXEC of Linux. */
const DUPLICATE_CLOSE_ON_EXEC = 1030;
/** Below are the standard streams. */
const FIRST_DESCRIPTOR = 3;

/** Another descriptor of the same socket; undefined where the C library can't be called. */
export function duplicateDescriptor(descriptor: number): number | undefined {
  const libc = openLibc();
  if (typeof libc === 'string') return undefined;
  const copy = libc.fcntl(descriptor, DUPLICATE_CLOSE_ON_EXEC, FIRST_DESCRIPTOR);
  return copy < 0 ? undefined : copy;
}
