import type { RemoteAnswer, RemoteOutput } from '../channel.ts';
import { PeerFailure } from '../peer-failure.ts';
import { textTensor } from '../text-elements.ts';

/** Typed elements of an output, as the loader gives them: 64-bit numbers as text. */
interface Contents {
  readonly bool_contents: readonly boolean[];
  readonly int_contents: readonly number[];
  readonly int64_contents: readonly string[];
  readonly uint_contents: readonly number[];
  readonly uint64_contents: readonly string[];
  readonly fp32_contents: readonly number[];
  readonly fp64_contents: readonly number[];
  readonly bytes_contents: readonly Uint8Array[];
}

interface OutputMessage {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly string[];
  readonly contents: Contents | null;
}

export interface InferMessage {
  readonly outputs: readonly OutputMessage[];
  readonly raw_output_contents: readonly Uint8Array[];
}

/** The outputs of a `ModelInferResponse`: raw, or typed as servers written for the plain protocol send them. */
export function readGrpcAnswer({ outputs, raw_output_contents: raw }: InferMessage): RemoteAnswer {
  if (raw.length > 0 && raw.length !== outputs.length) {
    throw garbage(`it has ${outputs.length} outputs and the bytes of ${raw.length}`);
  }
  return outputs.map(({ name, datatype, shape, contents }, index): RemoteOutput => {
    const bytes =
      raw.length > 0 ? raw[index] : contents === null ? undefined : typedBytes(datatype, contents);
    if (bytes === undefined)
      throw garbage(`the output ${JSON.stringify(name)} has no elements that can be read`);
    return { name, datatype, shape: shape.map(Number), bytes };
  });
}

function typedBytes(datatype: string, contents: Contents): Uint8Array | undefined {
  switch (datatype) {
    case 'BOOL':
      return Uint8Array.from(contents.bool_contents, Number);
    case 'INT8':
      return bytesOf(Int8Array.from(contents.int_contents));
    case 'INT16':
      return bytesOf(Int16Array.from(contents.int_contents));
    case 'INT32':
      return bytesOf(Int32Array.from(contents.int_contents));
    case 'INT64':
      return bytesOf(BigInt64Array.from(contents.int64_contents, BigInt));
    case 'UINT8':
      return Uint8Array.from(contents.uint_contents);
    case 'UINT16':
      return bytesOf(Uint16Array.from(contents.uint_contents));
    case 'UINT32':
      return bytesOf(Uint32Array.from(contents.uint_contents));
    case 'UINT64':
      return bytesOf(BigUint64Array.from(contents.uint64_contents, BigInt));
    case 'FP32':
      return bytesOf(Float32Array.from(contents.fp32_contents));
    case 'FP64':
      return bytesOf(Float64Array.from(contents.fp64_contents));
    case 'BYTES':
      return textTensor(contents.bytes_contents);
    default:
      // Halves have no typed form.
      return undefined;
  }
}

function bytesOf(values: ArrayBufferView): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

function garbage(what: string): PeerFailure {
  return new PeerFailure('garbage', `the remote engine's answer can not be read: ${what}`);
}
