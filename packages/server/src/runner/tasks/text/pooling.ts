import type { TextSpec } from '@gimbal/core';
import type { Numbers } from '../answer/tensor-numbers.ts';

/** Token vectors of one text: `tokens` × `width` numbers, of which the first `used` tokens are not padding. */
export interface TokenVectors {
  readonly values: Numbers;
  readonly width: number;
  readonly used: number;
}

/** One vector for a text from the vectors of its tokens. `auto` means `mean` (sentence-transformers' default). */
export function poolTokens(vectors: TokenVectors, pooling: TextSpec['pooling']): Float32Array {
  const { values, width, used } = vectors;
  if (pooling === 'cls' || used === 0) return Float32Array.from(values.subarray(0, used === 0 ? 0 : width));
  const sums = new Float64Array(width);
  for (let token = 0; token < used; token += 1) {
    for (let index = 0; index < width; index += 1) {
      sums[index] = (sums[index] as number) + (values[token * width + index] as number);
    }
  }
  return Float32Array.from(sums, (sum) => sum / used);
}

/** Scaled to length 1 (L2). A vector of zeros stays as it is: it has no direction. */
export function normalise(vector: Numbers): Float32Array {
  let squares = 0;
  for (let index = 0; index < vector.length; index += 1) squares += (vector[index] as number) ** 2;
  const length = Math.sqrt(squares);
  return length === 0 ? Float32Array.from(vector) : Float32Array.from(vector, (value) => value / length);
}
