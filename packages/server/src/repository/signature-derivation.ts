import type { BatchAxis, TensorSpec } from '@gimbal/core';

/** tf2onnx names every axis that it knows nothing of `unk__123`: that is no name. */
const PLACEHOLDER = /^unk__\d+$/;

/** Axis names with the placeholders taken out. */
export function withoutPlaceholders(tensor: TensorSpec): TensorSpec {
  const axisNames = tensor.axisNames.map((name) => (name !== null && PLACEHOLDER.test(name) ? null : name));
  return { ...tensor, axisNames };
}

/**
 * Whether rows of several requests can share a run: axis 0 of every input and output is free, and either all of them
 * are called the same or none has a name. Anything else (a fixed batch, a scalar input, a state whose batch is on
 * axis 1) is run alone, since a wrong guess would mix up answers.
 */
export function deriveBatchAxis(
  inputs: readonly TensorSpec[],
  outputs: readonly TensorSpec[],
): { axis: BatchAxis; because: string } {
  const tensors = [...inputs, ...outputs];
  const scalar = tensors.find((tensor) => tensor.shape.length === 0);
  if (scalar) return none(`${JSON.stringify(scalar.name)} has no axes or does not say them`);
  const fixed = tensors.find((tensor) => tensor.shape[0] !== -1);
  if (fixed) return none(`axis 0 of ${JSON.stringify(fixed.name)} is fixed to ${fixed.shape[0]}`);
  const first = tensors[0]?.axisNames[0] ?? null;
  const other = tensors.find((tensor) => (tensor.axisNames[0] ?? null) !== first);
  if (other) {
    const names = [first, other.axisNames[0] ?? null].map((name) =>
      name === null ? 'unnamed' : JSON.stringify(name),
    );
    return none(
      `axis 0 is ${names[0]} for ${JSON.stringify(tensors[0]?.name)} and ${names[1]} for ${JSON.stringify(other.name)}`,
    );
  }
  const called = first === null ? 'free' : JSON.stringify(first);
  return { axis: 'dynamic', because: `axis 0 of every input and output is ${called}` };
}

function none(because: string): { axis: BatchAxis; because: string } {
  return { axis: 'none', because };
}
