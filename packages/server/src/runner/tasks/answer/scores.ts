import type { ClassificationSpec } from '@gimbal/core';
import type { Numbers } from './tensor-numbers.ts';

type Activation = ClassificationSpec['activation'];

/** How far from 1 the sum of a row may be to be taken for probabilities already: float32 sums of a thousand classes. */
const PROBABILITY_SUM_TOLERANCE = 1e-3;

/** Scores of one row as confidences. Written into `target`, which has as many elements as the row. */
export function activate(row: Numbers, activation: Activation, target: Float64Array): void {
  switch (activation) {
    case 'softmax':
      softmax(row, target);
      return;
    case 'sigmoid':
      for (let index = 0; index < row.length; index += 1) target[index] = sigmoid(row[index] as number);
      return;
    case 'none':
      target.set(row);
      return;
    case 'auto':
      if (isDistribution(row)) target.set(row);
      else softmax(row, target);
  }
}

/** Shifted by the largest score, so that no exponential overflows, whatever the logits. */
function softmax(row: Numbers, target: Float64Array): void {
  let largest = Number.NEGATIVE_INFINITY;
  for (let index = 0; index < row.length; index += 1) {
    const score = row[index] as number;
    if (score > largest) largest = score;
  }
  // Every score is minus infinity, or one is plus infinity: the limit is shared by the largest ones.
  const isUnbounded = !Number.isFinite(largest);
  let sum = 0;
  for (let index = 0; index < row.length; index += 1) {
    const score = row[index] as number;
    const power = isUnbounded ? Number(score === largest) : Math.exp(score - largest);
    target[index] = power;
    sum += power;
  }
  for (let index = 0; index < row.length; index += 1) target[index] = (target[index] as number) / sum;
}

/** Both branches only ever raise e to a negative power. */
function sigmoid(score: number): number {
  if (score >= 0) return 1 / (1 + Math.exp(-score));
  const power = Math.exp(score);
  return power / (1 + power);
}

function isDistribution(row: Numbers): boolean {
  let sum = 0;
  for (let index = 0; index < row.length; index += 1) {
    const value = row[index] as number;
    if (!(value >= 0 && value <= 1 + PROBABILITY_SUM_TOLERANCE)) return false;
    sum += value;
  }
  return Math.abs(sum - 1) <= PROBABILITY_SUM_TOLERANCE;
}
