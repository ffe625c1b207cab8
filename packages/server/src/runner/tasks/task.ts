import type { AnswerParameters, TensorOutput } from '@gimbal/core';

/** One input tensor of the model, little endian and row-major. The bytes are aligned for their datatype. */
export interface PreparedTensor {
  readonly bytes: Uint8Array;
  readonly shape: readonly number[];
}

/** What one encoded input became: tensors index-aligned with the signature's inputs, each with a leading batch axis of 1. */
export interface PreparedInput {
  readonly tensors: readonly PreparedTensor[];
  /** What `answer` must know of the input later, such as the size of the picture before it was scaled. */
  readonly context?: unknown;
}

/**
 * Pre- and post-processing of one variant inside its runner. `prepare` may not keep `bytes` after it has settled: they
 * are a view of the arena.
 */
export interface TaskAdapter {
  /**
   * One encoded image or UTF-8 text. Fails with UNSUPPORTED_MEDIA_TYPE, INPUT_TOO_LARGE or INVALID_INPUT; with
   * UNSUPPORTED when the task takes tensors only.
   */
  prepare(bytes: Uint8Array): Promise<PreparedInput> | PreparedInput;
  /** Joins items of different lengths into one batch by padding. Absent: equal shapes are concatenated. */
  collate?(items: readonly PreparedInput[]): readonly PreparedTensor[];
  /**
   * UTF-8 JSON members without braces, such as `"predictions":[…]`, of a part with one row; a part of several rows
   * gives `"results":[{…},…]`. `outputs` are index-aligned with the signature's outputs and hold these rows only.
   * `context` is the part's prepared input, undefined when the client sent tensors.
   */
  answer(
    outputs: readonly TensorOutput[],
    rows: number,
    parameters: AnswerParameters,
    context: PreparedInput | undefined,
  ): Uint8Array;
  /**
   * The tensors of a prepared input are no longer needed: their memory may serve the next one. Optional to call; without
   * it the garbage of images (0.6 MB each) costs the runner a fifth of its time in collections.
   */
  release?(item: PreparedInput): void;
  /** Frees what the adapter holds. */
  close?(): void;
}
