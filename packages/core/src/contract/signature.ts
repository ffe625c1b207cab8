import type { Datatype } from '../tensor/datatype.ts';

/** One input or output of a model. */
export interface TensorSpec {
  readonly name: string;
  readonly datatype: Datatype;
  /** -1 where the length is free. Includes the batch axis when the model batches. */
  readonly shape: readonly number[];
  /** The model file's own name of each free axis (`batch`, `sequence`), null where it has none. */
  readonly axisNames: readonly (string | null)[];
}

/**
 * `dynamic`: axis 0 of every input and output is a free batch axis, so rows of several requests can run together.
 * `none`: everything else (static batch, no batch axis, batch elsewhere): each request runs alone, its shape as given.
 */
export type BatchAxis = 'dynamic' | 'none';

export interface Signature {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  readonly batchAxis: BatchAxis;
  /** The model gives its outputs in pieces, each with outputs of its own, until it has no more. Default: false. */
  readonly streams?: boolean;
}
