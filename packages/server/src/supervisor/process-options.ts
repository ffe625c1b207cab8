import type {
  BatchReport,
  Clock,
  CostProfile,
  PieceReport,
  RunnerExit,
  RunnerReady,
  VersionSpec,
} from '@gimbal/core';
import type { Arena } from '../transport/arena.ts';
import type { RunnerLoss } from './runner-end.ts';
import type { RunnerLimits } from './runner-limits.ts';
import type { RunnerProcess } from './runner-process.ts';

/** What a runner printed. */
export interface RunnerLine {
  readonly runner: string;
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
}

export interface ProcessOptions {
  readonly id: string;
  readonly spec: VersionSpec;
  readonly variant: number;
  readonly threads: number;
  readonly providers: readonly string[];
  readonly arena: Arena;
  readonly clock: Clock;
  readonly limits: RunnerLimits;
  /** What another runner of the variant has measured; undefined: this one measures. */
  readonly profile: CostProfile | undefined;
  readonly onLine: (line: RunnerLine) => void;
  readonly onLimitation: (because: string) => void;
  readonly program: string;
  /** Whether faults may be injected. */
  readonly drills: boolean;
  /** Whether the kernel has just killed somebody for want of memory. */
  readonly kernelKilled: () => boolean;
}

export interface ProcessEvents {
  onReady(runner: RunnerProcess, ready: RunnerReady): void;
  onReport(runner: RunnerProcess, batchId: number, report: BatchReport): void;
  onPiece(runner: RunnerProcess, batchId: number, piece: PieceReport): void;
  /** A batch has ended, well or not: the runner is idle. */
  onIdle(runner: RunnerProcess): void;
  /** The process is gone. */
  onGone(runner: RunnerProcess, loss: RunnerLoss, exit: RunnerExit): void;
}
