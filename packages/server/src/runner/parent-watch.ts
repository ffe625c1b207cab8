import { openLibc } from '../transport/libc.ts';

const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9;

/**
 * Asks the kernel to kill this process when its parent dies, even in the middle of a run that blocks the event loop.
 * Where that can't be had, the closed doorbell ends the runner as soon as the run is over.
 */
export function dieWithParent(): void {
  const libc = openLibc();
  if (typeof libc !== 'string') libc.prctl(PR_SET_PDEATHSIG, SIGKILL);
}
