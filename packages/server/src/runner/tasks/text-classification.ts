import type { AnswerParameters, TensorOutput, TextSpec, VersionSpec } from '@gimbal/core';
import { JsonWriter } from './answer/json-writer.ts';
import { PredictionWriter } from './answer/prediction-writer.ts';
import { writeRows } from './answer/row-answers.ts';
import { findScoreOutput, numbersOf } from './score-output.ts';
import type { PreparedInput, PreparedTensor, TaskAdapter } from './task.ts';
import { rowOf } from './tensor-task.ts';
import { TextInput } from './text/text-input.ts';

/** A text in, `"predictions":[{class_id, label, confidence},…]` out. */
export class TextClassificationTask implements TaskAdapter {
  readonly #writer = new JsonWriter();
  readonly #spec: VersionSpec;
  readonly #input: TextInput;
  readonly #scoreOutput: number;
  readonly #predictions: PredictionWriter;

  constructor(spec: VersionSpec, text: TextSpec, tokenizerJson: object) {
    this.#spec = spec;
    this.#input = new TextInput(spec.signature, text, tokenizerJson);
    this.#scoreOutput =
      findScoreOutput(spec.signature, spec.labels?.length) ?? findScoreOutput(spec.signature, undefined) ?? 0;
    this.#predictions = new PredictionWriter(spec.labels, spec.classification.activation);
  }

  prepare(bytes: Uint8Array): PreparedInput {
    return this.#input.prepare(bytes);
  }

  collate(items: readonly PreparedInput[]): readonly PreparedTensor[] {
    return this.#input.collate(items);
  }

  answer(outputs: readonly TensorOutput[], rows: number, parameters: AnswerParameters): Uint8Array {
    const scores = numbersOf(this.#spec.signature, outputs, this.#scoreOutput);
    return writeRows(this.#writer, rows, (row) => {
      this.#predictions.write(this.#writer, rowOf(scores, { row, rows }), parameters);
    });
  }
}
