import type { Instant } from '../base/time.ts';
import type { FieldError, GimbalError } from '../errors/gimbal-error.ts';
import type { ErrorCode } from '../errors/registry.ts';
import type { CostProfile } from './model.ts';
import type { FaultOrder } from './runner-fault.ts';
import type { Signature } from './signature.ts';
import type { PieceReport, StreamTerms } from './stream.ts';
import type { AnswerParameters, PartOutput, Want, WorkInput } from './work.ts';

/** A range of a work's rows, as it travels to a runner. */
export interface JobPart {
  readonly input: WorkInput;
  readonly firstRow: number;
  readonly rows: number;
  /** True when the part is not the whole work, so that the runner slices its input along the batch axis. */
  readonly sliced: boolean;
  readonly want: Want;
  readonly parameters: AnswerParameters;
}

/** One run of a runner. */
export interface BatchJob {
  readonly id: number;
  readonly parts: readonly JobPart[];
  /** It is a stream: it has one part, whose outputs come in pieces before the report. */
  readonly stream?: StreamTerms;
}

export type PartReport =
  | { readonly ok: true; readonly output: PartOutput }
  | {
      readonly ok: false;
      readonly code: ErrorCode;
      readonly message: string;
      readonly fields: readonly FieldError[];
    };

/** What a runner says of a finished batch. Reports of its parts are in the job's order. */
export interface BatchReport {
  readonly parts: readonly PartReport[];
  readonly preprocessMs: number;
  readonly inferMs: number;
  readonly postprocessMs: number;
  /** Gives back the memory that the outputs are views of. Called exactly once, when every part's call has closed. */
  release(): void;
}

/** States of a runner process, in the order of a good life; `faulted` is a crash loop that is only probed slowly. */
export type RunnerState =
  | 'starting'
  | 'loading'
  | 'warming'
  | 'ready'
  | 'busy'
  | 'retiring'
  | 'stopping'
  | 'backoff'
  | 'faulted';

/** What is public about one runner slot of a pool. A slot outlives the processes that fill it. */
export interface RunnerView {
  /** Stable for one process: a restarted runner has a new id. */
  readonly id: string;
  readonly pid: number | undefined;
  readonly state: RunnerState;
  readonly device: string;
  readonly restarts: number;
  readonly batches: number;
  readonly residentBytes: number;
  readonly transport: 'shared-memory' | 'socket';
  /** Warm and loaded, but without work until another runner is lost. */
  readonly spare?: boolean;
}

/** What a runner learned about its variant while loading. */
export interface RunnerReady {
  readonly signature: Signature;
  readonly profile: CostProfile;
  /** `cpu`, `cuda:0`: the provider really in use. */
  readonly device: string;
  readonly loadMs: number;
}

/** How a runner's process ended. `cause` is what works that were inside are judged by. */
export type RunnerEnd =
  /** It ended itself: a signal of its own making, an exit code, or neither when it broke its protocol. */
  | {
      readonly cause: 'crashed';
      readonly signal: string | undefined;
      readonly exitCode: number | undefined;
    }
  /** The host ended it: a batch over its limit, a batch that nobody waits for any more, or silence. */
  | { readonly cause: 'hung'; readonly because: 'slow' | 'expired' | 'silent' }
  /** SIGKILL from outside: neither the host's, nor known to be the kernel's. */
  | { readonly cause: 'killed' }
  /** For want of memory: by the kernel, or by its own libraries, which can't go on without. */
  | { readonly cause: 'oom-killed'; readonly by: 'kernel' | 'itself' }
  /** The host ended it for reasons of its own. */
  | { readonly cause: 'stopped' };

/** What an operator may want to know of a pool, besides its events. */
export type PoolNotice =
  /** Memory grows with requests, or jumped in one. Told before a recycling that follows from it; once for a process. */
  | {
      readonly kind: 'memory-growth';
      readonly runner: string;
      readonly verdict: 'growing' | 'jumped';
      readonly bytesPerRequest: number;
      /** When its memory's limit is reached at this pace; NEVER when it is not in sight. */
      readonly limitInMs: number;
      readonly residentBytes: number;
      readonly because: string;
    }
  /** A replacement is being started. */
  | { readonly kind: 'recycling'; readonly runner: string; readonly because: string }
  /** The spare runner has taken the place of a lost one, without a model load. */
  | { readonly kind: 'took-over'; readonly runner: string; readonly lost: string }
  /** Something could not be had that runners work without, such as their priority. Once for a pool. */
  | { readonly kind: 'limitation'; readonly because: string };

/** Events of a pool of runners; all are called from the event loop, never inside a call to the pool. */
export interface PoolEvents {
  /** A runner takes work. */
  onReady(id: string, ready: RunnerReady): void;
  /** A runner must get no more batches (recycling, stopping); its current batch goes on. */
  onRetiring(id: string): void;
  /** A runner's process is gone. `error` is what its unfinished batches end with, `end` how it came to its end. */
  onLost(id: string, error: GimbalError, end?: RunnerEnd): void;
  onReport(id: string, batchId: number, report: BatchReport): void;
  /** A piece of a stream that the runner has. Its report follows the last one. */
  onPiece?(id: string, batchId: number, piece: PieceReport): void;
  /** The variant can't be loaded, or crashes in a loop; `undefined` when it has recovered. */
  onFault(error: GimbalError | undefined): void;
  onNotice?(notice: PoolNotice): void;
}

/** The runners of one variant, as the host drives them. Implemented by processes and by the simulation. */
export interface RunnerPool {
  readonly views: readonly RunnerView[];
  /** Starts all runners; results come as events. */
  start(): void;
  /**
   * Runs a batch on a ready runner, which must have none. `predictedMs` sets the hang limit; with `latestDeadline`, the
   * last of its works', a batch that nobody waits for any more is ended sooner.
   */
  run(id: string, job: BatchJob, predictedMs: number, latestDeadline?: Instant): void;
  /** Ends a runner at once (SIGKILL): it hangs, or a drill says so. `onLost` follows with `error`. */
  kill(id: string, error: GimbalError): void;
  /**
   * Nobody waits for the batch any more. Its run may be given up: `onReport` still follows, with parts that are CANCELLED
   * when it was. Absent where a run can't be stopped without its runner.
   */
  cancel?(batchId: number): void;
  /** So many further pieces of a stream may come. Absent where no streams are run. */
  grant?(batchId: number, pieces: number): void;
  /** Orderly end: batches in flight finish within `graceMs`, then processes are ended. Resolves when none is left. */
  stop(graceMs: number): Promise<void>;
  /** Breaks a runner on purpose; of one that is gone nothing comes. Throws PERMISSION_DENIED where drills are off. */
  inject?(id: string, order: FaultOrder): void;
  /** Ends an injected fault before its time. */
  relieve?(id: string, order: FaultOrder): void;
}
