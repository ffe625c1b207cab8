import {
  GimbalError,
  JsonText,
  nearestName,
  type PartOutput,
  type TensorSpec,
  type VersionSpec,
  writeTensorText,
} from '@gimbal/core';
import { classify } from './classification.ts';
import type { InferHead, OutputHead } from './infer-head.ts';

/** The body of an answer: JSON, then the binary outputs in its order. */
export interface InferAnswer {
  readonly json: Uint8Array;
  readonly binaries: readonly Uint8Array[];
}

/** One whole output, put together from the parts of a split request. */
interface Output {
  readonly spec: Pick<TensorSpec, 'name' | 'datatype'>;
  readonly shape: readonly number[];
  readonly pieces: readonly Uint8Array[];
}

const text = new JsonText();

/** Throws what is wrong with the wanted outputs: before anything is run. */
export function checkOutputs({ outputs }: InferHead, { signature }: VersionSpec): void {
  for (const wanted of outputs) {
    const spec = signature.outputs.find((one) => one.name === wanted.name);
    if (!spec) throw unknownOutput(wanted.name, signature.outputs);
    if (wanted.classes > 0 && !CLASSIFIABLE.has(spec.datatype)) {
      throw new GimbalError(
        'INVALID_INPUT',
        `Cannot classify output "${wanted.name}": expected a numeric output, got ${spec.datatype}`,
      );
    }
  }
}

/** Throws where an output would need JSON that can't hold it. */
export function checkOutputCodings(head: InferHead, { signature }: VersionSpec): void {
  for (const { spec, wanted } of wantedOutputs(head, signature.outputs)) {
    if (spec.datatype !== 'FP16' || wanted.classes > 0 || isBinary(wanted, head)) continue;
    throw new GimbalError(
      'INVALID_INPUT',
      `Cannot give output "${spec.name}": sending FP16 data via JSON is not supported. Please use the binary data format for output ${spec.name}`,
    );
  }
}

export function writeAnswer(
  head: InferHead,
  version: VersionSpec,
  parts: readonly PartOutput[],
): InferAnswer {
  const binaries: Uint8Array[] = [];
  text.begin();
  text.ascii('{"model_name":');
  text.string(version.model);
  text.ascii(',"model_version":');
  text.string(version.version);
  if (head.id !== '') {
    text.ascii(',"id":');
    text.string(head.id);
  }
  text.ascii(',"outputs":[');
  let separator = '';
  for (const { spec, index, wanted } of wantedOutputs(head, version.signature.outputs)) {
    text.ascii(separator);
    separator = ',';
    const whole = join(spec, index, parts);
    const output = wanted.classes > 0 ? classify(whole, wanted.classes, version) : whole;
    writeOutput(output, isBinary(wanted, head), binaries);
  }
  text.ascii(']}');
  return { json: text.finish(), binaries };
}

/** What a request of no rows is answered with: outputs of no rows, without a run. */
export function emptyParts(head: InferHead, { signature }: VersionSpec): readonly PartOutput[] {
  const lengths = new Map<string, number>();
  for (const spec of signature.inputs) {
    const shape = head.inputs.find((input) => input.name === spec.name)?.shape ?? [];
    for (const [axis, name] of spec.axisNames.entries())
      if (name !== null) lengths.set(name, shape[axis] ?? 0);
  }
  const outputs = signature.outputs.map((spec) => ({
    bytes: new Uint8Array(0),
    shape: spec.shape.map((length, axis) => {
      if (axis === 0) return 0;
      return length >= 0 ? length : (lengths.get(spec.axisNames[axis] ?? '') ?? 0);
    }),
  }));
  return [{ kind: 'tensors', rows: 0, outputs }];
}

const CLASSIFIABLE = new Set([
  'FP16',
  'FP32',
  'FP64',
  'INT8',
  'INT16',
  'INT32',
  'INT64',
  'UINT8',
  'UINT16',
  'UINT32',
  'UINT64',
]);

function* wantedOutputs(
  head: InferHead,
  outputs: readonly TensorSpec[],
): Generator<{ spec: TensorSpec; index: number; wanted: OutputHead }> {
  if (head.outputs.length === 0) {
    for (const [index, spec] of outputs.entries())
      yield { spec, index, wanted: { name: spec.name, binary: undefined, classes: 0 } };
    return;
  }
  for (const wanted of head.outputs) {
    const index = outputs.findIndex((one) => one.name === wanted.name);
    const spec = outputs[index];
    if (spec) yield { spec, index, wanted };
  }
}

function isBinary(wanted: OutputHead, head: InferHead): boolean {
  return wanted.binary ?? head.binaryOutput;
}

function join(spec: TensorSpec, index: number, parts: readonly PartOutput[]): Output {
  const pieces: Uint8Array[] = [];
  let shape: readonly number[] = [];
  let rows = 0;
  for (const part of parts) {
    const output = part.kind === 'tensors' ? part.outputs[index] : undefined;
    if (!output) throw new GimbalError('INTERNAL', 'Cannot answer: an output is missing from the run');
    pieces.push(output.bytes);
    shape = output.shape;
    rows += output.shape[0] ?? 0;
  }
  return { spec, shape: parts.length === 1 ? shape : [rows, ...shape.slice(1)], pieces };
}

function writeOutput({ spec, shape, pieces }: Output, binary: boolean, binaries: Uint8Array[]): void {
  text.ascii('{"name":');
  text.string(spec.name);
  text.ascii(`,"datatype":"${spec.datatype}","shape":[${shape.join(',')}]`);
  if (binary) {
    const byteLength = pieces.reduce((sum, piece) => sum + piece.length, 0);
    text.ascii(`,"parameters":{"binary_data_size":${byteLength}}}`);
    for (const piece of pieces) if (piece.length > 0) binaries.push(piece);
    return;
  }
  text.ascii(',"data":');
  const bytes = pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces);
  writeTensorText(
    text,
    { name: spec.name, datatype: spec.datatype, shape, bytes },
    { layout: 'flat', nonFinite: 'bare' },
  );
  text.ascii('}');
}

function unknownOutput(name: string, outputs: readonly TensorSpec[]): GimbalError {
  const names = outputs.map((one) => one.name);
  const near = nearestName(name, names);
  const hint = near === undefined ? `the model's outputs are ${names.join(', ')}` : `did you mean "${near}"?`;
  return new GimbalError(
    'INVALID_INPUT',
    `Cannot give output "${name.slice(0, 128)}": unexpected inference output, ${hint}`,
  );
}

export type { Output };
