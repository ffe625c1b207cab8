import { EXIT } from '../exit-code.ts';
import { Failure } from '../failure.ts';
import type { PreparedRequest } from './sender.ts';

/** First elements of an input that a poison drill tells from all others. */
const POISON = [13, 7, 11, 5] as const;
/** Length of an axis that may have any. */
const FREE_LENGTH = 4;
/** Elements of one made-up tensor. */
const MAX_ELEMENTS = 1_000_000;

const ELEMENT_BYTES: Readonly<Record<string, (view: DataView, offset: number, value: number) => number>> = {
  INT32: (view, offset, value) => {
    view.setInt32(offset, value, true);
    return 4;
  },
  FP32: (view, offset, value) => {
    view.setFloat32(offset, value, true);
    return 4;
  },
  INT64: (view, offset, value) => {
    view.setBigInt64(offset, BigInt(value), true);
    return 8;
  },
};

interface TensorDocument {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
}

/** A model as `GET /v1/models/{model}` describes it, as far as it is needed. */
export interface ModelDocument {
  readonly name: string;
  readonly task?: string;
  readonly batching?: boolean;
  readonly inputs?: readonly TensorDocument[];
}

/** Requests to one model. */
export interface SampleRequest {
  readonly usual: PreparedRequest;
  /** The same with another beginning of its first input, and that beginning in hexadecimal; undefined where it can't be made. */
  readonly poison: { readonly request: PreparedRequest; readonly inputPrefix: string } | undefined;
}

/** Makes up inputs that fit a model's tensors. `body`: the user's own, for models that take something else. */
export function sampleRequest(
  model: ModelDocument,
  { body, timeoutMs }: { body: Buffer | undefined; timeoutMs: number },
): SampleRequest {
  const path = `/v1/models/${encodeURIComponent(model.name)}/predict`;
  const headers = { 'inference-timeout-ms': String(timeoutMs) };
  if (body) return { usual: { path, headers, body }, poison: undefined };
  const inputs = model.inputs ?? [];
  const takesTensors = model.task === 'tensor' || model.task === 'tabular';
  if (inputs.length === 0 || !takesTensors || !inputs.every(isNumeric)) {
    throw new Failure(EXIT.usage, `Cannot make up an input of ${model.name}`, {
      expected: 'a model of number tensors, or a request with --body',
      got: model.task ?? 'unknown task',
      fix: 'write the JSON that you would POST to its predict path into a file: --body request.json',
    });
  }
  const write = (first: readonly number[]): PreparedRequest => ({
    path,
    headers,
    body: Buffer.from(JSON.stringify({ input: inputOf(inputs, model.batching ?? false, first) })),
  });
  return { usual: write([]), poison: poisonOf(inputs, write) };
}

function poisonOf(
  inputs: readonly TensorDocument[],
  write: (first: readonly number[]) => PreparedRequest,
): SampleRequest['poison'] {
  const [first] = inputs;
  const put = first && ELEMENT_BYTES[first.datatype];
  if (!first || !put || lengthOf(first.shape.slice(1)) < POISON.length) return undefined;
  const bytes = Buffer.alloc(8 * POISON.length);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  let length = 0;
  for (const value of POISON) length += put(view, length, value);
  return { request: write(POISON), inputPrefix: bytes.subarray(0, length).toString('hex') };
}

function inputOf(inputs: readonly TensorDocument[], isBatching: boolean, first: readonly number[]): unknown {
  const tensors = inputs.map(({ shape }, index) => {
    const axes = isBatching ? shape.slice(1) : shape;
    const elements = Array.from({ length: lengthOf(axes) }, (_, element) => element % 10);
    if (index === 0) elements.splice(0, first.length, ...first);
    return elements;
  });
  // One input needs no name.
  if (inputs.length === 1) return tensors[0];
  return Object.fromEntries(inputs.map(({ name }, index) => [name, tensors[index]]));
}

function isNumeric({ datatype, shape }: TensorDocument): boolean {
  return datatype !== 'BYTES' && datatype !== 'BOOL' && lengthOf(shape.slice(1)) <= MAX_ELEMENTS;
}

function lengthOf(axes: readonly number[]): number {
  return axes.reduce((length, axis) => length * (axis < 0 ? FREE_LENGTH : axis), 1);
}
