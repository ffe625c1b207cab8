import { GimbalError, MAX_AXES } from '@gimbal/core';
import { DELIMITED, FIXED64, VARINT, WireReader } from './wire-reader.ts';

/** Inputs and outputs that one request may name; models have a few. As in V2 over REST. */
const MAX_TENSORS = 256;

/** Parameters of a request, an input or an output; clients send a handful. */
const MAX_PARAMETERS = 256;

export type ParameterValue = string | number | boolean | null;
export type Parameters = ReadonlyMap<string, ParameterValue>;

export interface InputMessage {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly parameters: Parameters;
  /** Views of its `InferTensorContents`, unread; a message may bring them in pieces. Usually none. */
  readonly contents: readonly Buffer[];
}

export interface OutputMessage {
  readonly name: string;
  readonly parameters: Parameters;
}

/** `inference.ModelInferRequest`; byte strings are views of the message that it was read from. */
export interface InferMessage {
  readonly model: string;
  /** "" for none. */
  readonly version: string;
  readonly id: string;
  readonly parameters: Parameters;
  readonly inputs: readonly InputMessage[];
  readonly outputs: readonly OutputMessage[];
  readonly raw: readonly Buffer[];
}

const NO_PARAMETERS: Parameters = new Map();

/** Tags of `ModelInferRequest`: field number << 3 | wire type. */
const MODEL_NAME = (1 << 3) | DELIMITED;
const MODEL_VERSION = (2 << 3) | DELIMITED;
const ID = (3 << 3) | DELIMITED;
const PARAMETERS = (4 << 3) | DELIMITED;
const INPUTS = (5 << 3) | DELIMITED;
const OUTPUTS = (6 << 3) | DELIMITED;
const RAW_INPUT_CONTENTS = (7 << 3) | DELIMITED;

/** Reads a request without copying or looking into tensors. Throws MALFORMED_REQUEST. */
export function readInferMessage(bytes: Buffer): InferMessage {
  const reader = new WireReader(bytes);
  let model = '';
  let version = '';
  let id = '';
  let parameters: Map<string, ParameterValue> | undefined;
  const inputs: InputMessage[] = [];
  const outputs: OutputMessage[] = [];
  const raw: Buffer[] = [];
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === RAW_INPUT_CONTENTS) raw.push(within('raw_input_contents', raw, reader.bytes()));
    else if (tag === INPUTS) inputs.push(within('inputs', inputs, readInput(reader.message())));
    else if (tag === OUTPUTS) outputs.push(within('outputs', outputs, readOutput(reader.message())));
    else if (tag === MODEL_NAME) model = reader.text();
    else if (tag === MODEL_VERSION) version = reader.text();
    else if (tag === ID) id = reader.text();
    else if (tag === PARAMETERS) parameters = readParameter(reader.message(), parameters);
    else reader.skip(tag);
  }
  return { model, version, id, parameters: parameters ?? NO_PARAMETERS, inputs, outputs, raw };
}

function within<T>(what: string, list: readonly unknown[], next: T): T {
  if (list.length < MAX_TENSORS) return next;
  throw new GimbalError(
    'MALFORMED_REQUEST',
    `Cannot read the request: "${what}" is too long, expected at most ${MAX_TENSORS}`,
  );
}

function readInput(reader: WireReader): InputMessage {
  let name = '';
  let datatype = '';
  const shape: number[] = [];
  let parameters: Map<string, ParameterValue> | undefined;
  const contents: Buffer[] = [];
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === ((1 << 3) | DELIMITED)) name = reader.text();
    else if (tag === ((2 << 3) | DELIMITED)) datatype = reader.text();
    else if (tag === ((3 << 3) | DELIMITED)) readLengths(reader.message(), shape);
    else if (tag === ((3 << 3) | VARINT)) pushLength(shape, reader.int64());
    else if (tag === ((4 << 3) | DELIMITED)) parameters = readParameter(reader.message(), parameters);
    else if (tag === ((5 << 3) | DELIMITED)) contents.push(within('contents', contents, reader.bytes()));
    else reader.skip(tag);
  }
  return { name, datatype, shape, parameters: parameters ?? NO_PARAMETERS, contents };
}

function readOutput(reader: WireReader): OutputMessage {
  let name = '';
  let parameters: Map<string, ParameterValue> | undefined;
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === ((1 << 3) | DELIMITED)) name = reader.text();
    else if (tag === ((2 << 3) | DELIMITED)) parameters = readParameter(reader.message(), parameters);
    else reader.skip(tag);
  }
  return { name, parameters: parameters ?? NO_PARAMETERS };
}

function readLengths(reader: WireReader, shape: number[]): void {
  while (!reader.ended) pushLength(shape, reader.int64());
}

function pushLength(shape: number[], length: number): void {
  if (shape.length === MAX_AXES) {
    throw new GimbalError(
      'MALFORMED_REQUEST',
      `Cannot read the request: a shape is too long, expected at most ${MAX_AXES} axes`,
    );
  }
  shape.push(length);
}

/** One entry of a map<string, InferParameter>. */
function readParameter(
  reader: WireReader,
  known: Map<string, ParameterValue> | undefined,
): Map<string, ParameterValue> {
  const parameters = known ?? new Map<string, ParameterValue>();
  if (parameters.size === MAX_PARAMETERS) {
    throw new GimbalError(
      'MALFORMED_REQUEST',
      `Cannot read the request: there are too many parameters, expected at most ${MAX_PARAMETERS}`,
    );
  }
  let key = '';
  let value: ParameterValue = null;
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === ((1 << 3) | DELIMITED)) key = reader.text();
    else if (tag === ((2 << 3) | DELIMITED)) value = readChoice(reader.message(), value);
    else reader.skip(tag);
  }
  parameters.set(key, value);
  return parameters;
}

/** `InferParameter`: whichever member came last. */
function readChoice(reader: WireReader, before: ParameterValue): ParameterValue {
  let value = before;
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === ((1 << 3) | VARINT)) value = reader.bool();
    else if (tag === ((2 << 3) | VARINT)) value = reader.int64();
    else if (tag === ((3 << 3) | DELIMITED)) value = reader.text();
    else if (tag === ((4 << 3) | FIXED64)) value = reader.double();
    else if (tag === ((5 << 3) | VARINT)) value = reader.uint64();
    else reader.skip(tag);
  }
  return value;
}
