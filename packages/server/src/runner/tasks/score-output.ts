import type { Signature, TensorOutput } from '@gimbal/core';
import { isFloatDatatype, type Numbers, readNumbers } from './answer/tensor-numbers.ts';

const SCORE_NAME = /prob|score|logit/i;

/**
 * Index of the output that holds one score per class: a float output of [batch, classes], the one that is named like
 * scores when there are several. `classes` is how many there must be, undefined when any number will do.
 */
export function findScoreOutput(signature: Signature, classes: number | undefined): number | undefined {
  const fitting: number[] = [];
  signature.outputs.forEach(({ datatype, shape }, index) => {
    const width = shape[shape.length - 1] ?? 1;
    const isRowOfClasses = shape.length >= 1 && (classes === undefined || width === classes || width === -1);
    if (isFloatDatatype(datatype) && isRowOfClasses) fitting.push(index);
  });
  return fitting.find((index) => SCORE_NAME.test(signature.outputs[index]?.name ?? '')) ?? fitting[0];
}

/** Numbers of an output by its place in the signature. */
export function numbersOf(signature: Signature, outputs: readonly TensorOutput[], index: number): Numbers {
  const output = outputs[index];
  const spec = signature.outputs[index];
  if (output === undefined || spec === undefined) return new Float32Array(0);
  return readNumbers(output, spec.datatype);
}
