import { GimbalError, type Signature, type TensorOutput, type TensorSpec } from '@gimbal/core';
import { hasNonFinite } from './non-finite.ts';
import type { OnnxElements, OnnxValue } from './onnx-binding.ts';
import { bytesOf, bytesOfStrings } from './tensor-elements.ts';

type Strings = readonly string[];

/** The outputs of one run, to be cut into the rows of each part. */
export class OutputRows {
  readonly #specs: readonly TensorSpec[];
  readonly #values: readonly OnnxValue[];
  readonly #rows: number;

  /** Fails with OUTPUT_INVALID when the outputs of a batching model are not `rows` long. */
  constructor(signature: Signature, values: Readonly<Record<string, OnnxValue>>, rows: number) {
    this.#specs = signature.outputs;
    this.#values = signature.outputs.map(({ name }) => values[name] as OnnxValue);
    this.#rows = rows;
    if (signature.batchAxis === 'none') return;
    for (let index = 0; index < this.#values.length; index += 1) {
      const got = (this.#values[index] as OnnxValue).dims[0];
      if (got !== rows) {
        throw outputInvalid(`the output "${this.#specs[index]?.name}" has ${got} rows, expected ${rows}`);
      }
    }
  }

  /** Views of the runtime's memory, index-aligned with the signature's outputs. */
  cut(first: number, rows: number): readonly TensorOutput[] {
    const outputs: TensorOutput[] = [];
    for (let index = 0; index < this.#values.length; index += 1) {
      const { data, dims } = this.#values[index] as OnnxValue;
      if (rows === this.#rows) outputs.push({ bytes: encoded(data), shape: dims });
      else outputs.push({ bytes: this.#rowsOf(data, first, rows), shape: [rows, ...dims.slice(1)] });
    }
    return outputs;
  }

  /** Name of the first output with a NaN or an Infinity in it. */
  firstNonFinite(outputs: readonly TensorOutput[]): string | undefined {
    return this.#specs.find(({ datatype }, index) => hasNonFinite(outputs[index] as TensorOutput, datatype))
      ?.name;
  }

  #rowsOf(data: OnnxElements, first: number, rows: number): Uint8Array {
    if (Array.isArray(data)) {
      const width = data.length / this.#rows;
      return bytesOfStrings((data as Strings).slice(first * width, (first + rows) * width));
    }
    const bytes = bytesOf(data as Exclude<OnnxElements, Strings>);
    const width = bytes.length / this.#rows;
    return bytes.subarray(first * width, (first + rows) * width);
  }
}

function encoded(data: OnnxElements): Uint8Array {
  return Array.isArray(data)
    ? bytesOfStrings(data as Strings)
    : bytesOf(data as Exclude<OnnxElements, Strings>);
}

export function outputInvalid(wrong: string): GimbalError {
  return new GimbalError('OUTPUT_INVALID', `Cannot answer: ${wrong}`);
}
