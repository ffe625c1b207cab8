import type { GimbalError } from '../errors/gimbal-error.ts';

/** A range of bytes in the shared arena of a version. */
export interface Span {
  readonly offset: number;
  readonly byteLength: number;
}

/** One input tensor, little endian and row-major, in arena memory (BYTES: 4-byte length before each element). */
export interface TensorInput {
  readonly span: Span;
  readonly shape: readonly number[];
}

/**
 * What is to be run: tensors index-aligned with the signature's inputs, or one encoded image or text (UTF-8) that the
 * runner decodes by the version's task.
 */
export type WorkInput =
  | { readonly kind: 'tensors'; readonly tensors: readonly TensorInput[] }
  | { readonly kind: 'encoded'; readonly span: Span };

/** `tensors`: raw outputs. `answer`: the task's post-processed answer as JSON members. */
export type Want = 'tensors' | 'answer';

export interface AnswerParameters {
  readonly topK: number;
  readonly threshold: number;
}

/** What an edge submits; one engine work each. */
export interface WorkRequest {
  readonly input: WorkInput;
  /** Rows that this work counts for; more than 1 only for `tensors` of a batching model. */
  readonly rows: number;
  readonly want: Want;
  readonly parameters: AnswerParameters;
}

/**
 * What the report of a stream says of its part: its outputs were told before, piece by piece. A call that gathers them
 * gives them as the parts of its work.
 */
export const STREAMED: PartOutput = { kind: 'tensors', rows: 0, outputs: [] };

export interface TensorOutput {
  /** A view of arena memory or of a received frame: valid until the call is closed. */
  readonly bytes: Uint8Array;
  readonly shape: readonly number[];
}

export interface StageTimings {
  readonly queueMs: number;
  /** From the batch's start to its return to the host, less the runner's own stages: transport and waiting. */
  readonly batchMs: number;
  readonly preprocessMs: number;
  readonly inferMs: number;
  readonly postprocessMs: number;
}

/** What one part (a range of a work's rows) came to. Parts of a work arrive together, in row order. */
export type PartOutput =
  | { readonly kind: 'tensors'; readonly rows: number; readonly outputs: readonly TensorOutput[] }
  /** UTF-8 JSON members without braces, such as `"predictions":[…]`. */
  | { readonly kind: 'answer'; readonly json: Uint8Array };

/** Why a work was not answered by the best rung. */
export type DegradationReason = 'overload' | 'unavailable' | 'breaker' | 'pinned' | 'stale-answer';

/** How the answer cache took part in an answer. */
export interface CachedHow {
  /** `hit`: it was kept; `joined`: another request's run gave it; `stale`: it was too old, but better than an error. */
  readonly kind: 'hit' | 'joined' | 'stale';
  readonly ageMs: number;
}

export interface WorkDone {
  readonly ok: true;
  readonly variant: string;
  /** Index of the variant in the ladder: 0 is the best. */
  readonly rung: number;
  readonly batchRows: number;
  readonly parts: readonly PartOutput[];
  readonly timings: StageTimings;
  /** Undefined when the best rung answered. */
  readonly degradedBecause?: DegradationReason | undefined;
  /** Undefined when a run of its own answered. */
  readonly cached?: CachedHow | undefined;
}

export interface WorkFailed {
  readonly ok: false;
  readonly error: GimbalError;
}

export type WorkResult = WorkDone | WorkFailed;
