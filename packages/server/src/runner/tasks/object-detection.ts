import {
  type AnswerParameters,
  type DetectionSpec,
  GimbalError,
  type ImageSpec,
  type Signature,
  type TensorOutput,
  type VersionSpec,
} from '@gimbal/core';
import { JsonWriter } from './answer/json-writer.ts';
import { writeRows } from './answer/row-answers.ts';
import type { Numbers } from './answer/tensor-numbers.ts';
import type { Box } from './detection/boxes.ts';
import { type CenterFacePlanes, decodeCenterFace } from './detection/centerface.ts';
import { type ImageContext, ImageInput } from './image/image-input.ts';
import { numbersOf } from './score-output.ts';
import type { PreparedInput, TaskAdapter } from './task.ts';

const PLANES = ['heatmap', 'scale', 'offset', 'landmarks'] as const;
const STRIDE = 4;

/** Decimals of coordinates: a hundredth of a pixel. */
const COORDINATE_STEPS = 100;

/**
 * An image in, `"predictions":[{class_id, label, confidence, bbox, landmarks},…]` out, in pixels of the upright picture
 * as it was sent. The parameter `threshold` replaces the declared one when it is above 0; `top_k` does not apply: the
 * version's `maxBoxes` does.
 */
export class ObjectDetectionTask implements TaskAdapter {
  readonly #writer = new JsonWriter();
  readonly #spec: VersionSpec;
  readonly #detection: DetectionSpec;
  readonly #input: ImageInput;
  readonly #planes: Readonly<Record<(typeof PLANES)[number], number>>;
  /** `{"class_id":0,"label":"face","confidence":`. */
  readonly #opening: Uint8Array;

  constructor(spec: VersionSpec, image: ImageSpec, detection: DetectionSpec) {
    this.#spec = spec;
    this.#detection = detection;
    this.#input = new ImageInput(spec.signature, image);
    this.#planes = findPlanes(spec.signature);
    this.#opening = Buffer.from(
      `{"class_id":0,"label":${JSON.stringify(spec.labels?.[0] ?? 'face')},"confidence":`,
    );
  }

  prepare(bytes: Uint8Array): Promise<PreparedInput> {
    return this.#input.prepare(bytes);
  }

  release(item: PreparedInput): void {
    this.#input.release(item);
  }

  answer(
    outputs: readonly TensorOutput[],
    rows: number,
    parameters: AnswerParameters,
    context: PreparedInput | undefined,
  ): Uint8Array {
    const scoreThreshold = parameters.threshold > 0 ? parameters.threshold : this.#detection.scoreThreshold;
    return writeRows(this.#writer, rows, (row) => {
      const planes = this.#planesOf(outputs, { row, rows });
      const boxes = decodeCenterFace(planes, { ...this.#detection, scoreThreshold });
      this.#writeBoxes(boxes, scaleToPicture(planes, context?.context as ImageContext | undefined));
    });
  }

  #planesOf(
    outputs: readonly TensorOutput[],
    { row, rows }: { row: number; rows: number },
  ): CenterFacePlanes {
    const planesOf = (index: number): Numbers => {
      const numbers = numbersOf(this.#spec.signature, outputs, index);
      const width = numbers.length / rows;
      return numbers.subarray(row * width, (row + 1) * width);
    };
    const shape = outputs[this.#planes.heatmap]?.shape ?? [];
    return {
      cells: { width: shape[shape.length - 1] ?? 0, height: shape[shape.length - 2] ?? 0 },
      heatmap: planesOf(this.#planes.heatmap),
      scale: planesOf(this.#planes.scale),
      offset: planesOf(this.#planes.offset),
      landmarks: planesOf(this.#planes.landmarks),
    };
  }

  #writeBoxes(boxes: readonly Box[], scale: { x: number; y: number }): void {
    const writer = this.#writer;
    writer.ascii('"predictions":[');
    boxes.forEach((box, index) => {
      if (index > 0) writer.ascii(',');
      writer.raw(this.#opening);
      writer.float32(Math.fround(box.score));
      writer.ascii(',"bbox":');
      this.#writePoints([box.left, box.top, box.right, box.bottom], scale);
      writer.ascii(',"landmarks":');
      this.#writePoints(box.landmarks, scale);
      writer.ascii('}');
    });
    writer.ascii(']');
  }

  #writePoints(points: readonly number[], scale: { x: number; y: number }): void {
    const writer = this.#writer;
    points.forEach((value, index) => {
      writer.ascii(index === 0 ? '[' : ',');
      const scaled = value * (index % 2 === 0 ? scale.x : scale.y);
      // Adding 0 turns -0 into 0.
      writer.float64(Math.round(scaled * COORDINATE_STEPS) / COORDINATE_STEPS + 0);
    });
    writer.ascii(']');
  }
}

/** From the network's pixels to those of the picture; both are the same for a client that sent the tensor itself. */
function scaleToPicture(
  { cells }: CenterFacePlanes,
  context: ImageContext | undefined,
): { x: number; y: number } {
  if (context === undefined) return { x: 1, y: 1 };
  return {
    x: context.upright.width / (cells.width * STRIDE),
    y: context.upright.height / (cells.height * STRIDE),
  };
}

function findPlanes(signature: Signature): Record<(typeof PLANES)[number], number> {
  const indexOf = (name: (typeof PLANES)[number]): number => {
    const index = signature.outputs.findIndex((output) => output.name === name);
    if (index < 0) {
      const names = signature.outputs.map((output) => output.name).join(', ');
      throw new GimbalError(
        'UNSUPPORTED',
        `Cannot decode boxes: the model has no output "${name}", expected ${PLANES.join(', ')}, got ${names}`,
      );
    }
    return index;
  };
  return {
    heatmap: indexOf('heatmap'),
    scale: indexOf('scale'),
    offset: indexOf('offset'),
    landmarks: indexOf('landmarks'),
  };
}
