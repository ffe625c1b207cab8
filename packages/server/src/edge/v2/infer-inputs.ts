import {
  type Block,
  byteSizeOf,
  bytesTensorFault,
  type Call,
  describeMismatch,
  elementCount,
  GimbalError,
  JsonScan,
  nearestName,
  readJsonTensor,
  type Signature,
  shapeMismatch,
  type TensorInput,
  type TensorSpec,
  tensorByteLength,
} from '@gimbal/core';
import { type InferHead, type InputHead, malformed } from './infer-head.ts';

/** An input that has been checked against the signature, with the memory that it fills. */
export interface PlannedInput {
  readonly head: InputHead;
  readonly block: Block;
  /** Index among the signature's inputs. */
  readonly index: number;
}

/** A request that fits the model; its binary inputs are still to be filled, in this order. */
export interface InferPlan {
  readonly inputs: readonly PlannedInput[];
  /** Length of the batch axis; 1 for a model that has none. */
  readonly rows: number;
}

/** Throws what does not fit the signature, before any memory is taken for it. */
export function checkInputs(head: InferHead, signature: Signature): number {
  const seen = new Set<string>();
  for (const input of head.inputs) {
    const spec = signature.inputs.find((one) => one.name === input.name);
    if (!spec) throw unknownInput(input.name, signature.inputs);
    if (seen.has(input.name)) throw malformed(`input "${input.name}" is there twice`);
    seen.add(input.name);
    checkInput(input, spec);
  }
  for (const spec of signature.inputs) if (!seen.has(spec.name)) throw missingInput(spec);
  return rowsOf(head.inputs, signature);
}

/** Takes memory for all inputs and fills those whose elements are in the JSON. */
export function placeInputs(
  json: Uint8Array,
  head: InferHead,
  signature: Signature,
  target: { call: Call; maxDepth: number },
): PlannedInput[] {
  return head.inputs.map((input) => {
    const index = signature.inputs.findIndex((one) => one.name === input.name);
    if (input.source.kind === 'binary')
      return { head: input, index, block: target.call.reserve(input.source.byteLength) };
    return { head: input, index, block: readElements(json, input, input.source.at, target) };
  });
}

/** Index-aligned with the signature's inputs, as works have them. */
export function tensorsOf(inputs: readonly PlannedInput[]): readonly TensorInput[] {
  return [...inputs]
    .sort((left, right) => left.index - right.index)
    .map(({ head, block }) => ({ span: block.span, shape: head.shape }));
}

/**
 * A BYTES tensor that came in binary: lengths are never trusted. BOOL is handed on as it came, as Triton does: bytes
 * past 1 are the client's own meaning, and mean true where JSON is written. (The native API, which no client of Triton
 * speaks, refuses them.)
 */
export function checkFilled({ head, block }: PlannedInput): void {
  if (head.datatype !== 'BYTES' || head.source.kind !== 'binary') return;
  const fault = bytesTensorFault(block.bytes, elementCount(head.shape) ?? 0);
  if (fault !== undefined) {
    throw new GimbalError(
      'INVALID_INPUT',
      `Cannot use input "${head.name}": its BYTES are not as its shape says, ${fault}`,
    );
  }
}

function checkInput(input: InputHead, spec: TensorSpec): void {
  if (input.datatype !== spec.datatype) {
    throw new GimbalError(
      'INVALID_INPUT',
      `Cannot use input "${input.name}": its datatype does not fit the model, expected ${spec.datatype}, got ${input.datatype}`,
      { fields: [{ pointer: '/inputs', expected: spec.datatype, received: input.datatype }] },
    );
  }
  const mismatch = shapeMismatch(spec, input.shape, '/inputs');
  if (mismatch)
    throw new GimbalError('INVALID_INPUT', describeMismatch(spec, mismatch), { fields: [mismatch] });
  const count = elementCount(input.shape);
  const byteLength = tensorByteLength(input.datatype, input.shape);
  if (count === undefined || byteLength === undefined) {
    throw new GimbalError(
      'INVALID_INPUT',
      `Cannot use input "${input.name}": its shape has more elements than can be counted`,
    );
  }
  const { source } = input;
  if (source.kind === 'json' && input.datatype === 'FP16') {
    throw new GimbalError(
      'INVALID_INPUT',
      `Cannot use input "${input.name}": receiving FP16 data via JSON is not supported. Please use the binary data format for input ${input.name}`,
    );
  }
  if (source.kind === 'binary' && input.datatype !== 'BYTES' && source.byteLength !== byteLength) {
    throw new GimbalError(
      'INVALID_INPUT',
      `Cannot use input "${input.name}": expected ${byteLength} bytes for ${input.datatype} [${input.shape.join(', ')}], got binary_data_size ${source.byteLength}`,
    );
  }
}

function rowsOf(inputs: readonly InputHead[], signature: Signature): number {
  if (signature.batchAxis === 'none') return 1;
  const first = inputs[0];
  if (!first) throw malformed('"inputs" is empty, expected the model\'s inputs');
  const rows = first.shape[0] ?? 1;
  const other = inputs.find((input) => input.shape[0] !== rows);
  if (!other) return rows;
  throw new GimbalError(
    'INVALID_INPUT',
    `Cannot batch the request: axis 0 must be the same for all inputs, expected ${rows} as in "${first.name}", got ${other.shape[0]} in "${other.name}"`,
  );
}

function readElements(
  json: Uint8Array,
  input: InputHead,
  at: number,
  target: { call: Call; maxDepth: number },
): Block {
  const scan = new JsonScan(json, target.maxDepth);
  scan.at = at;
  const expected = elementCount(input.shape) ?? 0;
  const size = byteSizeOf(input.datatype);
  const plan = {
    name: input.name,
    datatype: input.datatype,
    maxElements: expected,
    halves: 'refuse' as const,
  };
  if (size > 0) {
    const block = target.call.reserve(expected * size);
    const tensor = readJsonTensor(scan, { ...plan, destination: block.bytes });
    checkCount(input, tensor.count, expected);
    return block;
  }
  const tensor = readJsonTensor(scan, { ...plan, destination: undefined });
  checkCount(input, tensor.count, expected);
  const block = target.call.reserve(tensor.bytes.byteLength);
  block.bytes.set(tensor.bytes);
  return block;
}

function checkCount(input: InputHead, count: number, expected: number): void {
  if (count === expected) return;
  throw new GimbalError(
    'INVALID_INPUT',
    `Cannot use input "${input.name}": expected ${expected} elements for shape [${input.shape.join(', ')}], got ${count}`,
  );
}

function unknownInput(name: string, inputs: readonly TensorSpec[]): GimbalError {
  const names = inputs.map((one) => one.name);
  const near = nearestName(name, names);
  const hint = near === undefined ? `the model's inputs are ${names.join(', ')}` : `did you mean "${near}"?`;
  return new GimbalError(
    'INVALID_INPUT',
    `Cannot use input "${name.slice(0, 128)}": unexpected inference input, ${hint}`,
  );
}

function missingInput(spec: TensorSpec): GimbalError {
  return new GimbalError(
    'INVALID_INPUT',
    `Cannot run the model: input "${spec.name}" is missing, expected ${spec.datatype} [${spec.shape.join(', ')}]`,
  );
}
