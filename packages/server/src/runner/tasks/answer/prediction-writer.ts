import type { AnswerParameters, ClassificationSpec } from '@gimbal/core';
import type { JsonWriter } from './json-writer.ts';
import { activate } from './scores.ts';
import type { Numbers } from './tensor-numbers.ts';
import { topClasses } from './top-classes.ts';

const CLOSE_OBJECT = 0x7d;
const COMMA = 0x2c;

/**
 * Writes `"predictions":[{"class_id":…,"label":…,"confidence":…},…]`, the most confident first. Where labels and classes
 * differ in number, the labels are another model's: class numbers stand in for all of them.
 */
export class PredictionWriter {
  readonly #activation: ClassificationSpec['activation'];
  readonly #labels: readonly string[] | undefined;
  /** `{"class_id":281,"label":"tabby cat","confidence":` by class, rendered when first needed: bounded by the classes. */
  readonly #openings: (Uint8Array | undefined)[] = [];
  #confidences = new Float64Array(0);

  constructor(labels: readonly string[] | undefined, activation: ClassificationSpec['activation']) {
    this.#labels = labels;
    this.#activation = activation;
  }

  write(writer: JsonWriter, scores: Numbers, parameters: AnswerParameters): void {
    if (this.#confidences.length !== scores.length) this.#confidences = new Float64Array(scores.length);
    const confidences = this.#confidences;
    activate(scores, this.#activation, confidences);
    const classes = topClasses(confidences, { limit: parameters.topK, threshold: parameters.threshold });
    writer.ascii('"predictions":[');
    for (let place = 0; place < classes.length; place += 1) {
      const classId = classes[place] as number;
      if (place > 0) writer.character(COMMA);
      writer.raw(this.#openings[classId] ?? this.#renderOpening(classId, scores.length));
      writer.float32(Math.fround(confidences[classId] as number));
      writer.character(CLOSE_OBJECT);
    }
    writer.ascii(']');
  }

  #renderOpening(classId: number, classes: number): Uint8Array {
    const label = this.#labels?.length === classes ? this.#labels[classId] : undefined;
    const json = `{"class_id":${classId},"label":${JSON.stringify(label ?? String(classId))},"confidence":`;
    const opening = Buffer.from(json);
    this.#openings[classId] = opening;
    return opening;
  }
}
