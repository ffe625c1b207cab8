import { type Datatype, GimbalError, isDatatype, JsonScan, jsonPointerAt, MAX_AXES } from '@gimbal/core';

/** Inputs and outputs that one request may name; models have a few. */
const MAX_TENSORS = 256;

/** Longest part of a member's name that a message repeats. */
const MAX_SHOWN_KEY = 64;

/** Where an input's elements are. */
export type InputSource =
  /** After the JSON, so many bytes. */
  | { readonly kind: 'binary'; readonly byteLength: number }
  /** In the JSON, at this byte. */
  | { readonly kind: 'json'; readonly at: number };

export interface InputHead {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly source: InputSource;
}

export interface OutputHead {
  readonly name: string;
  /** Undefined: as the request's `binary_data_output` says. */
  readonly binary: boolean | undefined;
  /** Number of classes wanted by the classification extension; 0 for the tensor itself. */
  readonly classes: number;
}

/** The JSON of an inference request. */
export interface InferHead {
  /** Echoed when not empty. */
  readonly id: string;
  readonly inputs: readonly InputHead[];
  /** Empty: all outputs. */
  readonly outputs: readonly OutputHead[];
  readonly binaryOutput: boolean;
  /** `timeout`, in µs as the protocol has it; undefined when not given. */
  readonly timeoutMicros: number | undefined;
}

/** What parameters of the request, an input or an output may hold. */
type Parameter = string | number | boolean | null;
type Parameters = ReadonlyMap<string, Parameter>;

const NO_PARAMETERS: Parameters = new Map();
const NO_OUTPUTS: readonly OutputHead[] = [];

/**
 * Reads the JSON of a request; elements stay where they are, to be read when their place is known. A member that is
 * there twice is refused, as readers differ in which of them counts; among members that nobody knows it is not looked
 * for, since that would take memory for each of them.
 */
export function readInferHead(json: Uint8Array, maxDepth: number): InferHead {
  const scan = new JsonScan(json, maxDepth);
  let id: string | undefined;
  let inputs: InputHead[] | undefined;
  let outputs: OutputHead[] | undefined;
  let parameters: Parameters | undefined;
  scan.openObject();
  for (let key = scan.nextKey(); key !== undefined; key = scan.nextKey()) {
    if (key === 'id') {
      refuseSecond(scan, id, key);
      // The protocol's id is a string: a number would come back as another value, and Triton refuses it too.
      id = scan.string();
    } else if (key === 'inputs') {
      refuseSecond(scan, inputs, key);
      inputs = readTensors(scan, 'inputs', readInput);
    } else if (key === 'outputs') {
      refuseSecond(scan, outputs, key);
      outputs = readTensors(scan, 'outputs', readOutput);
    } else if (key === 'parameters') {
      refuseSecond(scan, parameters, key);
      parameters = readParameters(scan);
    } else scan.skip();
  }
  scan.finish();
  if (!inputs) throw malformed('the member "inputs" is missing, expected a list of tensors');
  if (parameters) refuseSequences(parameters);
  return {
    id: id ?? '',
    inputs,
    outputs: outputs ?? NO_OUTPUTS,
    binaryOutput: parameters?.get('binary_data_output') === true,
    timeoutMicros: parameters && timeoutOf(parameters),
  };
}

function readTensors<Head>(
  scan: JsonScan,
  what: string,
  read: (scan: JsonScan, index: number) => Head,
): Head[] {
  const heads: Head[] = [];
  scan.openArray();
  while (scan.nextItem()) {
    if (heads.length === MAX_TENSORS)
      throw malformed(`"${what}" is too long, expected at most ${MAX_TENSORS}`);
    heads.push(read(scan, heads.length));
  }
  return heads;
}

function readInput(scan: JsonScan, index: number): InputHead {
  let name: string | undefined;
  let datatype: string | undefined;
  let shape: number[] | undefined;
  let at: number | undefined;
  let parameters: Parameters | undefined;
  scan.openObject();
  for (let key = scan.nextKey(); key !== undefined; key = scan.nextKey()) {
    if (key === 'name') {
      refuseSecond(scan, name, key);
      name = scan.string();
    } else if (key === 'datatype') {
      refuseSecond(scan, datatype, key);
      datatype = scan.string();
    } else if (key === 'shape') {
      refuseSecond(scan, shape, key);
      shape = readShape(scan, index);
    } else if (key === 'parameters') {
      refuseSecond(scan, parameters, key);
      parameters = readParameters(scan);
    } else if (key === 'data') {
      refuseSecond(scan, at, key);
      scan.next();
      at = scan.at;
      scan.skip();
    } else scan.skip();
  }
  if (name === undefined) throw malformed(`inputs[${index}] has no "name"`);
  if (!isDatatype(datatype)) throw wrongDatatype(name, datatype);
  if (!shape) throw malformed(`input "${name}" has no "shape"`);
  return { name, datatype, shape, source: sourceOf(name, at, parameters ?? NO_PARAMETERS) };
}

function sourceOf(name: string, at: number | undefined, parameters: Parameters): InputSource {
  const size = parameters.get('binary_data_size');
  if (parameters.has('shared_memory_region')) {
    throw new GimbalError(
      'UNSUPPORTED',
      `Cannot read input "${name}": shared-memory regions are not supported, send it in binary`,
    );
  }
  if (size !== undefined && at !== undefined) {
    throw malformed(`input "${name}" has both "data" and "binary_data_size", expected one of them`);
  }
  if (at !== undefined) return { kind: 'json', at };
  if (size === undefined)
    throw malformed(`input "${name}" has neither "data" nor "binary_data_size", expected one of them`);
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) {
    throw malformed(
      `"binary_data_size" of input "${name}" is ${JSON.stringify(size)}, expected a number of bytes`,
    );
  }
  return { kind: 'binary', byteLength: size };
}

function readOutput(scan: JsonScan, index: number): OutputHead {
  let name: string | undefined;
  let given: Parameters | undefined;
  scan.openObject();
  for (let key = scan.nextKey(); key !== undefined; key = scan.nextKey()) {
    if (key === 'name') {
      refuseSecond(scan, name, key);
      name = scan.string();
    } else if (key === 'parameters') {
      refuseSecond(scan, given, key);
      given = readParameters(scan);
    } else scan.skip();
  }
  const parameters = given ?? NO_PARAMETERS;
  if (name === undefined) throw malformed(`outputs[${index}] has no "name"`);
  if (parameters.has('shared_memory_region')) {
    throw new GimbalError(
      'UNSUPPORTED',
      `Cannot give output "${name}": shared-memory regions are not supported`,
    );
  }
  const binary = parameters.get('binary_data');
  const classes = parameters.get('classification') ?? 0;
  if (typeof classes !== 'number' || !Number.isSafeInteger(classes) || classes < 0) {
    throw malformed(
      `"classification" of output "${name}" is ${JSON.stringify(classes)}, expected a number of classes`,
    );
  }
  return { name, binary: typeof binary === 'boolean' ? binary : undefined, classes };
}

function readShape(scan: JsonScan, index: number): number[] {
  const shape: number[] = [];
  scan.openArray();
  while (scan.nextItem()) {
    if (shape.length === MAX_AXES)
      throw malformed(`"shape" of inputs[${index}] is too long, expected at most ${MAX_AXES} axes`);
    const length = scan.number();
    if (!Number.isSafeInteger(length) || length < 0) {
      throw new GimbalError(
        'INVALID_INPUT',
        `Cannot use inputs[${index}]: expected lengths of at least 0 in "shape", got ${length}`,
      );
    }
    shape.push(length);
  }
  return shape;
}

function readParameters(scan: JsonScan): Parameters {
  const parameters = new Map<string, Parameter>();
  scan.openObject();
  for (let key = scan.nextKey(); key !== undefined; key = scan.nextKey()) {
    refuseSecond(scan, parameters.get(key), key);
    switch (scan.kind()) {
      case 'string':
        parameters.set(key, scan.string());
        break;
      case 'number':
        parameters.set(key, scan.number());
        break;
      case 'boolean':
        parameters.set(key, scan.boolean());
        break;
      default:
        scan.skip();
        parameters.set(key, null);
    }
  }
  return parameters;
}

function refuseSequences(parameters: Parameters): void {
  const sequence = parameters.get('sequence_id');
  if (sequence === undefined || sequence === 0 || sequence === '') return;
  throw new GimbalError(
    'UNSUPPORTED',
    'Cannot run a sequence: sequences are not supported, expected requests without "sequence_id"',
  );
}

function timeoutOf(parameters: Parameters): number | undefined {
  const timeout = parameters.get('timeout');
  if (timeout === undefined) return undefined;
  const micros = typeof timeout === 'string' ? Number(timeout) : timeout;
  if (typeof micros !== 'number' || !(micros >= 0 && micros < Number.POSITIVE_INFINITY)) {
    throw malformed(`the parameter "timeout" is ${JSON.stringify(timeout)}, expected microseconds`);
  }
  // As Triton has it, 0 is no time limit.
  return micros === 0 ? undefined : micros;
}

function wrongDatatype(name: string, datatype: string | undefined): GimbalError {
  return new GimbalError(
    'INVALID_INPUT',
    `Cannot use input "${name}": expected a datatype of the protocol (FP32, INT64, BYTES, …), got ${JSON.stringify(datatype ?? null)}`,
  );
}

/** Refuses a member that has a value already; its second one is ahead. */
export function refuseSecond(scan: JsonScan, value: unknown, key: string): void {
  if (value === undefined) return;
  const pointer = jsonPointerAt(scan.bytes, scan.at);
  const expected = 'each member once';
  const received = `${JSON.stringify(key.slice(0, MAX_SHOWN_KEY))} twice`;
  throw new GimbalError(
    'MALFORMED_REQUEST',
    `Cannot read the JSON: expected ${expected}, got ${received} in "${pointer}"`,
    { fields: [{ pointer, expected, received }] },
  );
}

export function malformed(what: string): GimbalError {
  return new GimbalError('MALFORMED_REQUEST', `Cannot read the request: ${what}`);
}
