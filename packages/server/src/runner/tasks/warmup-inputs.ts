import { byteSizeOf, type ImageSpec, type Signature, type TensorSpec } from '@gimbal/core';
import type { PreparedTensor } from './task.ts';

/** Length of a free axis that nothing is known about: a multiple of every stride in common use. */
const FREE_LENGTH = 32;
/** Tokens of a short sentence. */
const SEQUENCE_LENGTH = 16;
/** Pixels of a free image axis: enough for a representative run, small enough to be quick. */
const IMAGE_LENGTH = 320;

const SEQUENCE_NAME = /seq|token|time|length/i;
const TOKEN_NAME = /^(input_ids|attention_mask|token_type_ids|position_ids)$/;
const BYTES_ELEMENT = Buffer.from('warm-up');

/**
 * Small valid inputs for loading, warming and profiling a variant: `rows` rows (1 when the model has no batch axis),
 * zeros everywhere but in attention masks. Deterministic. Zero is the one value that is in range of every model's
 * indices and counts.
 */
export function warmupInputs(
  signature: Signature,
  rows: number,
  image?: ImageSpec | undefined,
): readonly PreparedTensor[] {
  return signature.inputs.map((input) => {
    const shape = input.shape.map((length, axis) => {
      if (length >= 0) return length;
      if (axis === 0 && signature.batchAxis === 'dynamic') return rows;
      return freeLength(input, axis, image);
    });
    return { bytes: fillerFor(input, shape), shape };
  });
}

function freeLength(input: TensorSpec, axis: number, image: ImageSpec | undefined): number {
  // The first axis of a model that can't be batched is as a rule still its batch.
  if (axis === 0) return 1;
  if (image !== undefined && input.shape.length === 4) return imageLength(axis, image);
  const name = input.axisNames[axis] ?? '';
  return SEQUENCE_NAME.test(name) || TOKEN_NAME.test(input.name) ? SEQUENCE_LENGTH : FREE_LENGTH;
}

function imageLength(axis: number, image: ImageSpec): number {
  const channelAxis = image.layout === 'nchw' ? 1 : 3;
  if (axis === channelAxis) return image.colour === 'grey' ? 1 : 3;
  const widthAxis = image.layout === 'nchw' ? 3 : 2;
  if (!('multipleOf' in image.size)) return image.size[axis === widthAxis ? 0 : 1];
  const { multipleOf, maxSide } = image.size;
  return Math.max(1, Math.floor(Math.min(IMAGE_LENGTH, maxSide) / multipleOf)) * multipleOf;
}

function fillerFor(input: TensorSpec, shape: readonly number[]): Uint8Array {
  const count = shape.reduce((product, length) => product * length, 1);
  if (input.datatype === 'BYTES') return bytesElements(count);
  const size = byteSizeOf(input.datatype);
  const bytes = Buffer.alloc(count * size);
  if (input.name === 'attention_mask') {
    for (let index = 0; index < count; index += 1) bytes[index * size] = 1;
  }
  return bytes;
}

function bytesElements(count: number): Uint8Array {
  const element = Buffer.alloc(4 + BYTES_ELEMENT.length);
  element.writeUInt32LE(BYTES_ELEMENT.length);
  BYTES_ELEMENT.copy(element, 4);
  return Buffer.concat(new Array<Uint8Array>(count).fill(element));
}
