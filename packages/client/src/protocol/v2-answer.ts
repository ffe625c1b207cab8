import { AnswerError } from '../errors.ts';
import { type Datatype, isDatatype, type TensorElements } from '../tensor/datatype.ts';
import { elementCount, receivedTensor, type Tensor, tensor } from '../tensor/tensor.ts';
import { fromWire } from '../tensor/wire.ts';

const LENGTH_HEADER = 'inference-header-content-length';

export interface V2Document {
  readonly model: string;
  readonly version: string | undefined;
  readonly outputs: Readonly<Record<string, Tensor>>;
}

/** Reads an answer of V2: JSON, then the binary outputs in its order. Throws an AnswerError for whatever does not fit. */
export function readV2Answer(headers: Headers, body: Uint8Array<ArrayBuffer>): V2Document {
  const announced = headers.get(LENGTH_HEADER);
  const jsonBytes = announced === null ? body.length : Number(announced);
  if (!(jsonBytes >= 0 && jsonBytes <= body.length)) {
    throw unfit(`${LENGTH_HEADER} of at most ${body.length}`, String(announced));
  }
  const document = jsonOf(body.subarray(0, jsonBytes));
  const { model_name: model, model_version: version, outputs } = document;
  if (!Array.isArray(outputs)) throw unfit('a member "outputs"', 'none');
  const binary = new BinaryOutputs(body.subarray(jsonBytes));
  const entries = outputs.map((output: unknown): [string, Tensor] => readOutput(output, binary));
  binary.finish();
  return {
    model: typeof model === 'string' ? model : '',
    version: typeof version === 'string' ? version : undefined,
    outputs: Object.fromEntries(entries),
  };
}

/** Takes the outputs' bytes one after the other. */
class BinaryOutputs {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  #at = 0;

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.#bytes = bytes;
  }

  take(byteLength: number): Uint8Array<ArrayBuffer> {
    const end = this.#at + byteLength;
    if (!(Number.isSafeInteger(byteLength) && byteLength >= 0 && end <= this.#bytes.length)) {
      throw unfit(`${byteLength} bytes of an output`, String(this.#bytes.length - this.#at));
    }
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }

  finish(): void {
    if (this.#at !== this.#bytes.length) throw unfit('no bytes after the outputs', 'more');
  }
}

function readOutput(output: unknown, binary: BinaryOutputs): [string, Tensor] {
  if (typeof output !== 'object' || output === null) throw unfit('objects in "outputs"', typeof output);
  const { name, datatype, shape, parameters, data } = output as Readonly<Record<string, unknown>>;
  if (typeof name !== 'string' || !isDatatype(datatype) || !Array.isArray(shape)) {
    throw unfit(
      'name, datatype and shape of an output',
      JSON.stringify({ name, datatype, shape }).slice(0, 200),
    );
  }
  const count = elementCount(shape as number[]);
  if (count === undefined) throw unfit(`a shape of output "${name}"`, JSON.stringify(shape).slice(0, 200));
  const byteLength = (parameters as { binary_data_size?: unknown } | undefined)?.binary_data_size;
  if (typeof byteLength !== 'number') return [name, tensorOfJson(name, { datatype, shape, data })];
  const elements = fromWire(datatype, binary.take(byteLength), count);
  if (!elements) throw unfit(`output "${name}" as ${datatype} [${shape.join(', ')}]`, `${byteLength} bytes`);
  return [name, receivedTensor(datatype, shape, elements)];
}

/** Servers without the binary extension answer in JSON. */
function tensorOfJson(
  name: string,
  { datatype, shape, data }: { datatype: Datatype; shape: readonly number[]; data: unknown },
): Tensor {
  if (!Array.isArray(data)) throw unfit(`elements of output "${name}"`, 'none');
  const flat: unknown[] = data.flat(Number.POSITIVE_INFINITY);
  const isWide = datatype === 'INT64' || datatype === 'UINT64';
  try {
    const elements = isWide ? flat.map((element) => BigInt(element as number)) : flat;
    return tensor(datatype, shape, elements as unknown as TensorElements[Datatype] as never) as Tensor;
  } catch (error) {
    throw unfit(`elements of output "${name}"`, error instanceof Error ? error.message : 'others');
  }
}

function jsonOf(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Said below.
  }
  throw unfit('a JSON object', 'something else');
}

function unfit(expected: string, got: string): AnswerError {
  return new AnswerError(`Cannot read the answer: expected ${expected}, got ${got}`, { code: 'BAD_ANSWER' });
}
