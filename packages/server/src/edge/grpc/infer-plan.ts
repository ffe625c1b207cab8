import {
  type Block,
  bytesTensorFault,
  type Call,
  type Datatype,
  elementCount,
  GimbalError,
  isDatatype,
  type Signature,
  type TensorInput,
  tensorByteLength,
  type VersionSpec,
} from '@gimbal/core';
import { checkOutputs } from '../v2/infer-answer.ts';
import type { InferHead, OutputHead } from '../v2/infer-head.ts';
import { checkInputs } from '../v2/infer-inputs.ts';
import type { InferMessage, InputMessage, OutputMessage, Parameters } from './infer-message.ts';
import { contentsSize, hasElements, writeContents } from './tensor-contents.ts';

/** A request that fits the model, its elements still in the message. */
export interface InferPlan {
  readonly head: InferHead;
  /** Length of the batch axis; 1 for a model that has none. */
  readonly rows: number;
  /** In the message's order. */
  readonly inputs: readonly PlannedInput[];
}

interface PlannedInput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly byteLength: number;
  readonly elements:
    | { readonly kind: 'raw'; readonly bytes: Buffer }
    | { readonly kind: 'typed'; readonly contents: readonly Buffer[] };
}

/** `timeout` in µs, of either integer type; undefined when not given. `priority` is taken and, as over REST, not used. */
export function timeoutMicrosOf(parameters: Parameters): number | undefined {
  const timeout = parameters.get('timeout');
  if (timeout === undefined) return undefined;
  const micros = typeof timeout === 'string' ? Number(timeout) : timeout;
  if (typeof micros !== 'number' || !(micros >= 0 && micros < Number.POSITIVE_INFINITY)) {
    throw malformed(`the parameter "timeout" is ${JSON.stringify(timeout)}, expected microseconds`);
  }
  // As Triton has it, 0 is no time limit.
  return micros === 0 ? undefined : micros;
}

/** Checks all of a request before any memory is taken for it. Throws what is wrong. */
export function planInfer(message: InferMessage, spec: VersionSpec): InferPlan {
  refuseSequences(message.parameters);
  const inputs = message.inputs.map((input, index) => planned(message, input, index));
  const head: InferHead = {
    id: message.id,
    // Sizes are compared below, where it is known what the elements came in.
    inputs: inputs.map(({ name, datatype, shape }) => ({
      name,
      datatype,
      shape,
      source: { kind: 'binary', byteLength: tensorByteLength(datatype, shape) ?? 0 },
    })),
    outputs: message.outputs.map(wantedOutput),
    binaryOutput: true,
    timeoutMicros: undefined,
  };
  checkOutputs(head, spec);
  const rows = checkInputs(head, spec.signature);
  checkRawCount(message);
  return { head, rows, inputs: inputs.map((input) => sized(input)) };
}

/** Takes memory for all inputs and fills it: the one copy that an input's bytes make. Index-aligned with the signature. */
export function placePlan(plan: InferPlan, signature: Signature, call: Call): readonly TensorInput[] {
  return signature.inputs.map(({ name }) => {
    const input = plan.inputs.find((one) => one.name === name);
    if (!input) throw malformed(`input "${name}" is missing`);
    const block: Block = call.reserve(input.byteLength);
    if (input.elements.kind === 'raw') block.bytes.set(input.elements.bytes);
    else writeContents({ ...input, contents: input.elements.contents }, block.bytes);
    return { span: block.span, shape: input.shape };
  });
}

/** What an input says of itself; its size is not known to fit yet. */
function planned(message: InferMessage, input: InputMessage, index: number): PlannedInput {
  const { name, datatype, shape, contents } = input;
  if (name === '') throw malformed(`inputs[${index}] has no "name"`);
  if (!isDatatype(datatype)) {
    throw new GimbalError(
      'INVALID_INPUT',
      `Cannot use input "${name}": expected a datatype of the protocol (FP32, INT64, BYTES, …), got ${JSON.stringify(datatype.slice(0, 64))}`,
    );
  }
  if (input.parameters.has('shared_memory_region')) {
    throw new GimbalError(
      'UNSUPPORTED',
      `Cannot read input "${name}": shared-memory regions are not supported, send it in raw_input_contents`,
    );
  }
  const negative = shape.find((length) => length < 0);
  if (negative !== undefined) {
    throw new GimbalError(
      'INVALID_INPUT',
      `Cannot use inputs[${index}]: expected lengths of at least 0 in "shape", got ${negative}`,
    );
  }
  if (message.raw.length === 0) {
    return { name, datatype, shape, byteLength: 0, elements: { kind: 'typed', contents } };
  }
  if (hasElements(contents)) {
    throw malformed(`input "${name}" has "contents" beside "raw_input_contents", expected one of them`);
  }
  const bytes = message.raw[index] ?? Buffer.alloc(0);
  return { name, datatype, shape, byteLength: bytes.length, elements: { kind: 'raw', bytes } };
}

function checkRawCount({ inputs, raw }: InferMessage): void {
  if (raw.length === 0 || raw.length === inputs.length) return;
  throw malformed(
    `"raw_input_contents" has ${raw.length} entries, expected one for each of ${inputs.length} inputs`,
  );
}

/** The same input with its size, which must be what the shape says. */
function sized(input: PlannedInput): PlannedInput {
  const { name, datatype, shape, elements } = input;
  const count = elementCount(shape) ?? 0;
  const expected = `for ${datatype} [${shape.join(', ')}]`;
  if (elements.kind === 'raw') {
    if (datatype === 'BYTES') {
      const fault = bytesTensorFault(elements.bytes, count);
      if (fault === undefined) return input;
      throw new GimbalError(
        'INVALID_INPUT',
        `Cannot use input "${name}": its BYTES are not as its shape says, ${fault}`,
      );
    }
    const byteLength = tensorByteLength(datatype, shape) ?? 0;
    if (input.byteLength === byteLength) return input;
    throw new GimbalError(
      'INVALID_INPUT',
      `Cannot use input "${name}": expected ${byteLength} bytes ${expected}, got ${input.byteLength} in raw_input_contents`,
    );
  }
  if (datatype === 'FP16') {
    throw new GimbalError(
      'INVALID_INPUT',
      `Cannot use input "${name}": receiving FP16 data in "contents" is not supported. Please use raw_input_contents for input ${name}`,
    );
  }
  const size = contentsSize({ ...input, contents: elements.contents });
  if (size.count !== count) {
    throw new GimbalError(
      'INVALID_INPUT',
      `Cannot use input "${name}": expected ${count} elements for shape [${shape.join(', ')}], got ${size.count}`,
    );
  }
  return { ...input, byteLength: size.byteLength };
}

function wantedOutput({ name, parameters }: OutputMessage): OutputHead {
  if (name === '') throw malformed('an output has no "name"');
  if (parameters.has('shared_memory_region')) {
    throw new GimbalError(
      'UNSUPPORTED',
      `Cannot give output "${name}": shared-memory regions are not supported`,
    );
  }
  const classes = parameters.get('classification') ?? 0;
  if (typeof classes !== 'number' || !Number.isSafeInteger(classes) || classes < 0) {
    throw malformed(
      `"classification" of output "${name}" is ${JSON.stringify(classes)}, expected a number of classes`,
    );
  }
  return { name, binary: true, classes };
}

function refuseSequences(parameters: Parameters): void {
  const sequence = parameters.get('sequence_id');
  if (sequence === undefined || sequence === 0 || sequence === '') return;
  throw new GimbalError(
    'UNSUPPORTED',
    'Cannot run a sequence: sequences are not supported, expected requests without "sequence_id"',
  );
}

function malformed(what: string): GimbalError {
  return new GimbalError('MALFORMED_REQUEST', `Cannot read the request: ${what}`);
}
