import type { FieldError, GimbalError } from '../errors/gimbal-error.ts';
import type { ErrorCode } from '../errors/registry.ts';
import type { CostProfile } from './model.ts';
import type { Signature } from './signature.ts';
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
}

/** What a runner learned about its variant while loading. */
export interface RunnerReady {
  readonly signature: Signature;
  readonly profile: CostProfile;
  /** `cpu`, `cuda:0`: the provider really in use. */
  readonly device: string;
  readonly loadMs: number;
}

/** Events of a pool of runners; all are called from the event loop, never inside a call to the pool. */
export interface PoolEvents {
  /** A runner takes work. */
  onReady(id: string, ready: RunnerReady): void;
  /** A runner must get no more batches (recycling, stopping); its current batch goes on. */
  onRetiring(id: string): void;
  /** A runner's process is gone. `error` is what its unfinished batches end with. */
  onLost(id: string, error: GimbalError): void;
  onReport(id: string, batchId: number, report: BatchReport): void;
  /** The variant can't be loaded, or crashes in a loop; `undefined` when it has recovered. */
  onFault(error: GimbalError | undefined): void;
}

/** The runners of one variant, as the host drives them. Implemented by processes and by the simulation. */
export interface RunnerPool {
  readonly views: readonly RunnerView[];
  /** Starts all runners; results come as events. */
  start(): void;
  /** Runs a batch on a ready runner, which must have none. `predictedMs` sets the hang limit. */
  run(id: string, job: BatchJob, predictedMs: number): void;
  /** Ends a runner at once (SIGKILL): it hangs, or a drill says so. `onLost` follows with `error`. */
  kill(id: string, error: GimbalError): void;
  /** Orderly end: batches in flight finish within `graceMs`, then processes are ended. Resolves when none is left. */
  stop(graceMs: number): Promise<void>;
}
