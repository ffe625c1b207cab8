import {
  type AnswerParameters,
  GimbalError,
  JsonText,
  type TensorOutput,
  type VersionSpec,
  writeTensorText,
} from '@gimbal/core';
import { TensorTask } from '../runner/tasks/tensor-task.ts';
import { firstNonFinite } from './run-outputs.ts';

/** Writes the answers of the native API from checked outputs: JSON members without braces. */
export interface AnswerWriter {
  /** Throws OUTPUT_INVALID where a float is not finite and the version does not allow it. */
  write(outputs: readonly TensorOutput[], rows: number, parameters: AnswerParameters): Uint8Array;
}

/** `spec` has the signature that is served. */
export function createAnswerWriter(spec: VersionSpec): AnswerWriter {
  const task = spec.task === 'text-embedding' ? new EmbeddingAnswer() : new TensorTask(spec);
  return {
    write: (outputs, rows, parameters) => {
      const broken = spec.nonFiniteOutputs === 'error' ? firstNonFinite(outputs, spec.signature) : undefined;
      if (broken !== undefined) {
        throw new GimbalError(
          'OUTPUT_INVALID',
          `Cannot answer: the output ${JSON.stringify(broken)} of the remote engine has NaN or Infinity in it`,
        );
      }
      return task.answer(outputs, rows, parameters);
    },
  };
}

/** `"embedding":[…]` from an output [rows, width]. */
class EmbeddingAnswer {
  readonly #text = new JsonText();

  answer(outputs: readonly TensorOutput[], rows: number): Uint8Array {
    const [output] = outputs;
    const text = this.#text;
    text.begin();
    if (output === undefined) return text.finish();
    const rowBytes = output.bytes.length / Math.max(1, rows);
    if (rows !== 1) text.ascii('"results":[');
    for (let row = 0; row < rows; row += 1) {
      if (rows !== 1) text.ascii(row === 0 ? '{' : ',{');
      const bytes = output.bytes.subarray(row * rowBytes, (row + 1) * rowBytes);
      text.ascii('"embedding":');
      const tensor = { name: 'embedding', datatype: 'FP32', shape: [rowBytes / 4], bytes } as const;
      writeTensorText(text, tensor, { layout: 'flat', nonFinite: 'null' });
      if (rows !== 1) text.ascii('}');
    }
    if (rows !== 1) text.ascii(']');
    return text.finish();
  }
}
