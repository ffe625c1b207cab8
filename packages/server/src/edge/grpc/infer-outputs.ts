import { GimbalError, type PartOutput, type TensorSpec, type VersionSpec } from '@gimbal/core';
import { classify } from '../v2/classification.ts';
import type { InferHead, OutputHead } from '../v2/infer-head.ts';
import type { AnswerOutput } from './infer-answer.ts';

/** The wanted outputs of a run, whole and in their order; all of them when none was named. Views, never copies. */
export function answerOutputs(
  head: InferHead,
  version: VersionSpec,
  parts: readonly PartOutput[],
): readonly AnswerOutput[] {
  const { outputs } = version.signature;
  const wanted: readonly OutputHead[] =
    head.outputs.length > 0 ? head.outputs : outputs.map(({ name }) => ({ name, binary: true, classes: 0 }));
  return wanted.map(({ name, classes }) => {
    const index = outputs.findIndex((one) => one.name === name);
    const spec = outputs[index];
    if (!spec) throw new GimbalError('INTERNAL', 'Cannot answer: an output is missing from the signature');
    const whole = joined(spec, index, parts);
    if (classes === 0) return { name, datatype: spec.datatype, shape: whole.shape, pieces: whole.pieces };
    const top = classify({ spec, ...whole }, classes, version);
    return { name, datatype: top.spec.datatype, shape: top.shape, pieces: top.pieces };
  });
}

/** One output, put together from the parts of a split request. */
function joined(
  spec: TensorSpec,
  index: number,
  parts: readonly PartOutput[],
): { shape: readonly number[]; pieces: readonly Uint8Array[] } {
  const pieces: Uint8Array[] = [];
  let shape: readonly number[] = [];
  let rows = 0;
  for (const part of parts) {
    const output = part.kind === 'tensors' ? part.outputs[index] : undefined;
    if (!output) {
      throw new GimbalError('INTERNAL', `Cannot answer: output "${spec.name}" is missing from the run`);
    }
    pieces.push(output.bytes);
    shape = output.shape;
    rows += output.shape[0] ?? 0;
  }
  return { shape: parts.length === 1 ? shape : [rows, ...shape.slice(1)], pieces };
}
