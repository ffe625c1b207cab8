import {
  bytesTensorFault,
  type Datatype,
  elementCount,
  fromHalf,
  type Signature,
  type TensorOutput,
  type TensorSpec,
  tensorByteLength,
} from '@gimbal/core';
import { rowsOf } from '../transport/tensor-rows.ts';
import type { RemoteAnswer, RemoteOutput } from './channel.ts';
import { PeerFailure } from './peer-failure.ts';

/**
 * The outputs of one run, in the signature's order, checked: nothing that a remote engine sends is trusted to fit. Throws
 * a `garbage` failure that names the output, what was expected and what came.
 */
export function checkOutputs(
  answer: RemoteAnswer,
  signature: Signature,
  rows: number,
): readonly TensorOutput[] {
  return signature.outputs.map((spec) => {
    const output = answer.find(({ name }) => name === spec.name);
    if (output === undefined) throw garbage(`the output ${JSON.stringify(spec.name)} is missing`);
    const wrong = misfit(output, spec, signature.batchAxis === 'dynamic' ? rows : undefined);
    if (wrong !== undefined) throw garbage(`the output ${JSON.stringify(spec.name)} ${wrong}`);
    return { bytes: plain(output.bytes), shape: output.shape };
  });
}

/** Some rows of checked outputs, as views. */
export function cutOutputs(
  outputs: readonly TensorOutput[],
  { outputs: specs }: Signature,
  range: { first: number; rows: number },
): readonly TensorOutput[] {
  return outputs.map((output, index) => rowsOf(output, specs[index]?.datatype ?? 'UINT8', range));
}

/** Name of the first float output with a NaN or an Infinity in it. */
export function firstNonFinite(
  outputs: readonly TensorOutput[],
  { outputs: specs }: Signature,
): string | undefined {
  return specs.find(({ datatype }, index) => {
    const output = outputs[index];
    return output !== undefined && hasNonFinite(output.bytes, datatype);
  })?.name;
}

/** A view that is no Buffer, whose `slice` would be no copy. */
function plain(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function misfit(output: RemoteOutput, spec: TensorSpec, rows: number | undefined): string | undefined {
  const { datatype, shape, bytes } = output;
  if (datatype !== spec.datatype) return `is ${datatype}, expected ${spec.datatype}`;
  const expected = rows === undefined ? spec.shape : [rows, ...spec.shape.slice(1)];
  const fits =
    shape.length === expected.length &&
    expected.every((length, axis) => length === -1 || length === shape[axis]);
  if (!fits) return `has the shape [${shape.join(', ')}], expected [${expected.join(', ')}]`;
  if (spec.datatype === 'BYTES') {
    const fault = bytesTensorFault(bytes, elementCount(shape) ?? 0);
    return fault === undefined ? undefined : `is broken: ${fault}`;
  }
  const byteLength = tensorByteLength(spec.datatype, shape);
  if (byteLength === bytes.length) return undefined;
  return `has ${bytes.length} bytes, expected ${byteLength} for [${shape.join(', ')}]`;
}

function hasNonFinite(bytes: Uint8Array, datatype: Datatype): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const width = datatype === 'FP64' ? 8 : datatype === 'FP32' ? 4 : datatype === 'FP16' ? 2 : 0;
  if (width === 0) return false;
  for (let at = 0; at + width <= bytes.length; at += width) {
    const value =
      width === 8
        ? view.getFloat64(at, true)
        : width === 4
          ? view.getFloat32(at, true)
          : fromHalf(view.getUint16(at, true));
    if (!Number.isFinite(value)) return true;
  }
  return false;
}

function garbage(what: string): PeerFailure {
  return new PeerFailure('garbage', `the remote engine's answer does not fit the model: ${what}`);
}
