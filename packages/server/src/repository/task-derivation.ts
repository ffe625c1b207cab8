import type { Task, TensorSpec } from '@gimbal/core';
import { looksLikeImage } from './image-derivation.ts';

const CENTERFACE_OUTPUTS = ['heatmap', 'scale', 'offset', 'landmarks'];
const TOKEN_INPUT = /^(input_ids|ids|tokens)$/i;

export interface TaskEvidence {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  readonly labelCount: number | undefined;
  readonly hasTokenizer: boolean;
}

export interface DerivedTask {
  readonly task: Task;
  readonly because: string;
}

/** What the model is probably for. Without evidence it is `tensor`, which is always right and never clever. */
export function deriveTask(evidence: TaskEvidence): DerivedTask {
  return deriveText(evidence) ?? deriveImage(evidence) ?? deriveTable(evidence);
}

/** Whether the detector that Gimbal knows could have made these outputs. */
export function hasCenterFaceOutputs(outputs: readonly TensorSpec[]): boolean {
  return CENTERFACE_OUTPUTS.every((name) => outputs.some((output) => output.name === name));
}

/** The output with one score for each label; a free last axis may be it too. */
export function scoreOutput(outputs: readonly TensorSpec[], labelCount: number): TensorSpec | undefined {
  const candidates = outputs.filter(isScores);
  return (
    candidates.find((output) => output.shape.at(-1) === labelCount) ??
    candidates.find((output) => output.shape.at(-1) === -1)
  );
}

/** Floats of one row for each input row: [batch, classes]. */
export function isScores(output: TensorSpec): boolean {
  return output.shape.length === 2 && ['FP16', 'FP32', 'FP64'].includes(output.datatype);
}

export function isTokenInput(input: TensorSpec): boolean {
  return TOKEN_INPUT.test(input.name) && ['INT64', 'INT32'].includes(input.datatype);
}

function deriveText({ inputs, outputs, labelCount, hasTokenizer }: TaskEvidence): DerivedTask | undefined {
  const tokens = inputs.find(isTokenInput);
  if (tokens === undefined || !hasTokenizer) return undefined;
  const from = `tokenizer.json and the input ${JSON.stringify(tokens.name)}`;
  if (labelCount !== undefined && scoreOutput(outputs, labelCount) !== undefined) {
    return { task: 'text-classification', because: `${from}, and ${labelCount} labels` };
  }
  return { task: 'text-embedding', because: `${from}, and no labels` };
}

function deriveImage({ inputs, outputs, labelCount }: TaskEvidence): DerivedTask | undefined {
  const [image] = inputs;
  if (inputs.length !== 1 || image === undefined || !looksLikeImage(image)) return undefined;
  const from = `one input of the shape of pictures, [${image.shape.join(', ')}]`;
  if (hasCenterFaceOutputs(outputs)) {
    return { task: 'object-detection', because: `${from}, and the outputs of CenterFace` };
  }
  if (labelCount !== undefined && scoreOutput(outputs, labelCount) !== undefined) {
    return { task: 'image-classification', because: `${from}, and ${labelCount} labels` };
  }
  return {
    task: 'tensor',
    because: `${from}, but no labels that fit an output: add labels.txt or declare the task to send pictures`,
  };
}

function deriveTable({ inputs, outputs }: TaskEvidence): DerivedTask {
  const [table] = inputs;
  const isTable =
    inputs.length === 1 &&
    table?.shape.length === 2 &&
    table.shape[0] === -1 &&
    (table.shape[1] ?? -1) > 0 &&
    table.datatype !== 'BYTES' &&
    outputs.length > 0;
  if (isTable) return { task: 'tabular', because: `one input of rows with ${table.shape[1]} numbers` };
  return { task: 'tensor', because: 'no other task fits its inputs' };
}
