import type { Job } from './jobs.ts';
import { runLoad, type ServerUnderTest } from './measure.ts';

/** Requests whose client leaves, a second. */
const LEAVING_PER_SECOND = 40;
/** They leave after this: before their turn comes, since others keep the runner busy. */
const LEAVE_AFTER_MS = 20;
const STEADY_CONNECTIONS = 8;
const SECONDS = 8;

export interface CancelledCost {
  readonly answeredPerSecondAlone: number;
  readonly answeredPerSecondBeside: number;
  readonly cancelledPerSecond: number;
  /** What one cancelled request takes of the server's core, in answered requests: 1 would be a whole one. */
  readonly costRatio: number;
}

/**
 * What a request costs whose client has gone before it was started. The server's core is full either way, so the answers
 * that are missing beside the leaving clients are what those cost.
 */
export async function cancelledCost(
  server: ServerUnderTest,
  job: Job,
  scratch: string,
): Promise<CancelledCost> {
  const steady = {
    mode: { kind: 'closed', connections: STEADY_CONNECTIONS, warmupSeconds: 2, seconds: SECONDS },
    scratch,
  } as const;
  const alone = await runLoad(server, { ...job, name: 'jpeg' }, { ...steady, deadlineMs: undefined });
  const leaving = {
    mode: {
      kind: 'open',
      phases: [{ ratePerSecond: LEAVING_PER_SECOND, seconds: SECONDS + 2 }],
      maxConnections: 256,
      poissonSeed: 7,
    },
    deadlineMs: LEAVE_AFTER_MS,
    scratch,
  } as const;
  const [beside, left] = await Promise.all([
    runLoad(server, { ...job, name: 'jpeg' }, { ...steady, deadlineMs: undefined }),
    runLoad(server, { ...job, name: 'text' }, leaving),
  ]);
  const cancelledPerSecond = left.load.failures.timeout / left.load.seconds;
  return {
    answeredPerSecondAlone: alone.load.goodPerSecond,
    answeredPerSecondBeside: beside.load.goodPerSecond + left.load.goodPerSecond,
    cancelledPerSecond,
    costRatio:
      (alone.load.goodPerSecond - beside.load.goodPerSecond - left.load.goodPerSecond) / cancelledPerSecond,
  };
}
