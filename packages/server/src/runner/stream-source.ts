import type { AnswerParameters } from '@gimbal/core';
import type { OnnxValue } from './onnx-binding.ts';

/** Outputs by their names, each a whole tensor. */
export type StreamOutputs = Readonly<Record<string, OnnxValue>>;

/** A model that answers in pieces. */
export interface StreamSource {
  /**
   * Begins a stream. `inputs` are views of memory that lasts until the stream has ended. The next piece is asked for when
   * there is room for it, so that a slow reader suspends the model where it yields. `signal` is aborted when nobody reads
   * any more: whatever the model waits for should end then; no further piece is asked for in any case, and the
   * iteration is ended as a loop that is left ends it.
   */
  stream(
    inputs: Readonly<Record<string, OnnxValue>>,
    parameters: AnswerParameters,
    signal: AbortSignal,
  ): AsyncIterable<StreamOutputs>;
}
