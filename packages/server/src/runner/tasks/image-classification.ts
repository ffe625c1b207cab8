import type { AnswerParameters, ImageSpec, TensorOutput, VersionSpec } from '@gimbal/core';
import { JsonWriter } from './answer/json-writer.ts';
import { PredictionWriter } from './answer/prediction-writer.ts';
import { writeRows } from './answer/row-answers.ts';
import { ImageInput } from './image/image-input.ts';
import { findScoreOutput, numbersOf } from './score-output.ts';
import type { PreparedInput, TaskAdapter } from './task.ts';
import { rowOf } from './tensor-task.ts';

/** An image in, `"predictions":[{class_id, label, confidence},…]` out. */
export class ImageClassificationTask implements TaskAdapter {
  readonly #writer = new JsonWriter();
  readonly #spec: VersionSpec;
  readonly #input: ImageInput;
  readonly #scoreOutput: number;
  readonly #predictions: PredictionWriter;

  constructor(spec: VersionSpec, image: ImageSpec) {
    this.#spec = spec;
    this.#input = new ImageInput(spec.signature, image);
    this.#scoreOutput =
      findScoreOutput(spec.signature, spec.labels?.length) ?? findScoreOutput(spec.signature, undefined) ?? 0;
    this.#predictions = new PredictionWriter(spec.labels, spec.classification.activation);
  }

  prepare(bytes: Uint8Array): Promise<PreparedInput> {
    return this.#input.prepare(bytes);
  }

  release(item: PreparedInput): void {
    this.#input.release(item);
  }

  answer(outputs: readonly TensorOutput[], rows: number, parameters: AnswerParameters): Uint8Array {
    const scores = numbersOf(this.#spec.signature, outputs, this.#scoreOutput);
    return writeRows(this.#writer, rows, (row) => {
      this.#predictions.write(this.#writer, rowOf(scores, { row, rows }), parameters);
    });
  }
}
