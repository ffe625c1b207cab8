import type { Datatype, TensorOutput } from '@gimbal/core';
import { elementsOf } from './tensor-elements.ts';

const FP16_EXPONENT = 0x7c00;

/** Whether a float tensor has a NaN or an Infinity in it. Tensors of other datatypes have none. */
export function hasNonFinite({ bytes }: TensorOutput, datatype: Datatype): boolean {
  switch (datatype) {
    case 'FP32':
      return sumIsNotZero(elementsOf(bytes, datatype) as Float32Array);
    case 'FP64':
      return sumIsNotZero(elementsOf(bytes, datatype) as Float64Array);
    case 'FP16':
      return (elementsOf(bytes, datatype) as Uint16Array).some(
        (half) => (half & FP16_EXPONENT) === FP16_EXPONENT,
      );
    default:
      return false;
  }
}

/** Zero times anything finite is zero, and NaN otherwise: one addition for each element, no branch. */
function sumIsNotZero(values: Float32Array | Float64Array): boolean {
  let sum = 0;
  for (let index = 0; index < values.length; index += 1) sum += (values[index] as number) * 0;
  return sum !== 0;
}
