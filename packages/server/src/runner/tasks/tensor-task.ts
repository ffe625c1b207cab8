import {
  type AnswerParameters,
  type Datatype,
  GimbalError,
  type TensorOutput,
  type VersionSpec,
} from '@gimbal/core';
import { JsonWriter } from './answer/json-writer.ts';
import { PredictionWriter } from './answer/prediction-writer.ts';
import { writeRows } from './answer/row-answers.ts';
import { writeTensor } from './answer/tensor-json.ts';
import type { Numbers } from './answer/tensor-numbers.ts';
import { findScoreOutput, numbersOf } from './score-output.ts';
import type { PreparedInput, TaskAdapter } from './task.ts';

interface NamedOutput {
  /** `"name":`, rendered. */
  readonly member: Uint8Array;
  readonly datatype: Datatype;
}

/**
 * Tabular and tensor models: `"outputs":{name: nested array}`, each array with its leading axis (of 1 for one row).
 * Where the version has labels and an output with one score per label, `"predictions":[…]` says the same in words.
 */
export class TensorTask implements TaskAdapter {
  readonly #writer = new JsonWriter();
  readonly #spec: VersionSpec;
  readonly #outputs: readonly NamedOutput[];
  readonly #scoreOutput: number | undefined;
  readonly #predictions: PredictionWriter;

  constructor(spec: VersionSpec) {
    this.#spec = spec;
    this.#outputs = spec.signature.outputs.map(({ name, datatype }, index) => ({
      member: Buffer.from(`${index === 0 ? '' : ','}${JSON.stringify(name)}:`),
      datatype,
    }));
    const batches = spec.signature.batchAxis === 'dynamic';
    this.#scoreOutput =
      batches && spec.labels !== undefined ? findScoreOutput(spec.signature, spec.labels.length) : undefined;
    this.#predictions = new PredictionWriter(spec.labels, spec.classification.activation);
  }

  prepare(_bytes: Uint8Array): PreparedInput {
    throw new GimbalError(
      'UNSUPPORTED',
      `Cannot read the input: the model's task is ${this.#spec.task}, expected tensors, got an image or text`,
    );
  }

  answer(outputs: readonly TensorOutput[], rows: number, parameters: AnswerParameters): Uint8Array {
    const index = this.#scoreOutput;
    const scores = index === undefined ? undefined : numbersOf(this.#spec.signature, outputs, index);
    return writeRows(this.#writer, rows, (row) => {
      this.#writeOutputs(outputs, row);
      if (scores !== undefined) this.#writePredictions(rowOf(scores, { row, rows }), parameters);
    });
  }

  #writeOutputs(outputs: readonly TensorOutput[], row: number): void {
    const writer = this.#writer;
    const batches = this.#spec.signature.batchAxis === 'dynamic';
    writer.ascii('"outputs":{');
    for (let index = 0; index < this.#outputs.length; index += 1) {
      const { member, datatype } = this.#outputs[index] as NamedOutput;
      const output = outputs[index];
      if (output === undefined) continue;
      writer.raw(member);
      const taken = batches ? { first: row, rows: 1 } : { first: 0, rows: output.shape[0] ?? 1 };
      writeTensor(writer, output, { datatype, ...taken });
    }
    writer.ascii('}');
  }

  #writePredictions(scores: Numbers, parameters: AnswerParameters): void {
    this.#writer.ascii(',');
    this.#predictions.write(this.#writer, scores, parameters);
  }
}

/** The numbers of one row of a [rows, classes] output. */
export function rowOf(numbers: Numbers, { row, rows }: { row: number; rows: number }): Numbers {
  if (rows === 1) return numbers;
  const width = numbers.length / rows;
  return numbers.subarray(row * width, (row + 1) * width);
}
