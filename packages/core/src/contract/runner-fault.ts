import type { ErrorCode } from '../errors/registry.ts';

/**
 * What a drill breaks in one runner. Signals (`kill`, `freeze`) come from outside and work on any process; the others are
 * done by the runner itself in the middle of its batches, as a broken model, device or library would.
 */
export type RunnerFault =
  /** SIGKILL, once. */
  | { readonly kind: 'kill' }
  /** SIGSTOP, and SIGCONT when the fault ends. */
  | { readonly kind: 'freeze' }
  /**
   * The process ends itself in a batch. With `inputPrefix` (hexadecimal) only in batches that have an input whose bytes
   * begin so: a poison.
   */
  | { readonly kind: 'crash'; readonly inputPrefix?: string }
  /** A run that does not return while the fault lasts. */
  | { readonly kind: 'hang' }
  /** A run takes `factor` times as long, and `addMs` more. */
  | { readonly kind: 'slow'; readonly factor: number; readonly addMs: number }
  /** This share of the inputs fails. */
  | { readonly kind: 'fail'; readonly ratio: number; readonly code: ErrorCode }
  /** Batches with more rows than this report that they need more memory than there is. */
  | { readonly kind: 'out-of-memory'; readonly aboveRows: number }
  /** Runs fail as on a device that has gone. */
  | { readonly kind: 'device-loss' }
  /** Memory that each batch takes and never gives back; the runner stops at its own bound. */
  | { readonly kind: 'leak'; readonly bytesPerBatch: number }
  /** Float outputs are NaN. */
  | { readonly kind: 'non-finite' };

export type RunnerFaultKind = RunnerFault['kind'];

/** A fault on its way to a runner. It ends by itself, whichever comes first. */
export interface FaultOrder {
  readonly id: number;
  readonly fault: RunnerFault;
  /** Batches of a runner that it touches at most. */
  readonly batches: number;
  readonly durationMs: number;
}
