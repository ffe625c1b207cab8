import {
  type BatchAxis,
  isDatatype,
  MAX_AXES,
  type Signature,
  type TensorSpec,
  type VersionSpec,
} from '@gimbal/core';
import type { RemoteDescription } from './channel.ts';
import { PeerFailure } from './peer-failure.ts';

/** Tensors of one model; more is no description. */
const MAX_TENSORS = 256;

/** Metadata of the V2 protocol as it comes, over REST or gRPC. Throws a `refused` or `garbage` failure. */
export function readDescription(metadata: unknown): RemoteDescription {
  const { inputs, outputs } = (metadata ?? {}) as { inputs?: unknown; outputs?: unknown };
  const description = { inputs: readTensors(inputs, 'inputs'), outputs: readTensors(outputs, 'outputs') };
  return { ...description, batchAxis: batchAxisOf(description) };
}

/**
 * Rows of several requests share a run where axis 0 of every tensor is free; V2 has no names of axes that could say more.
 * A model with another meaning of a free first axis is declared with `batching: { maxSize: 1 }`.
 */
function batchAxisOf({ inputs, outputs }: Omit<RemoteDescription, 'batchAxis'>): BatchAxis {
  const tensors = [...inputs, ...outputs];
  return tensors.length > 0 && tensors.every(({ shape }) => shape[0] === -1) ? 'dynamic' : 'none';
}

function readTensors(value: unknown, side: string): TensorSpec[] {
  if (!Array.isArray(value) || value.length > MAX_TENSORS) throw garbage(`it has no list of ${side}`);
  return value.map((one) => {
    const { name, datatype, shape } = (one ?? {}) as { name?: unknown; datatype?: unknown; shape?: unknown };
    if (typeof name !== 'string' || !Array.isArray(shape) || shape.length > MAX_AXES) {
      throw garbage(`one of its ${side} has no name or no shape`);
    }
    if (!isDatatype(datatype)) {
      throw new PeerFailure(
        'refused',
        `the remote model's ${JSON.stringify(name)} is of the datatype ${JSON.stringify(datatype)}, which is not supported`,
      );
    }
    const lengths = shape.map(Number);
    if (!lengths.every((length) => Number.isSafeInteger(length) && length >= -1)) {
      throw garbage(`the shape of ${JSON.stringify(name)} has other things than lengths in it`);
    }
    return { name, datatype, shape: lengths, axisNames: lengths.map(() => null) };
  });
}

/** What of the signature the version leaves to the server: all of it when it declares no tensors. */
export function isDeclared({ inputs, outputs }: Signature): boolean {
  return inputs.length > 0 || outputs.length > 0;
}

/**
 * The signature to serve: the declared one, when the server's tensors can stand for it; else the server's. Returns what is
 * wrong instead, as a fragment of a sentence.
 */
export function confirmSignature(
  { signature: declared, batching }: Pick<VersionSpec, 'signature' | 'batching'>,
  told: RemoteDescription | undefined,
): Signature | string {
  if (!isDeclared(declared)) {
    if (told === undefined)
      return 'the server does not describe its models, expected "inputs" and "outputs" to be declared';
    if (told.batchAxis === 'none' && typeof batching.maxSize === 'number' && batching.maxSize > 1) {
      return `batching.maxSize is ${batching.maxSize}, expected 1, since axis 0 of the remote model's tensors is not free`;
    }
    return batching.maxSize === 1 ? { ...told, batchAxis: told.batchAxis } : told;
  }
  if (told === undefined) return declared;
  for (const side of ['inputs', 'outputs'] as const) {
    for (const spec of declared[side]) {
      const wrong = mismatch(
        spec,
        told[side].find(({ name }) => name === spec.name),
      );
      if (wrong !== undefined)
        return `the declaration of ${JSON.stringify(spec.name)} among the ${side} does not fit: ${wrong}`;
    }
  }
  const extra = told.inputs.find(({ name }) => declared.inputs.every((spec) => spec.name !== name));
  return extra === undefined
    ? declared
    : `the remote model has the input ${JSON.stringify(extra.name)} too, which is not declared`;
}

/** Whether another endpoint serves the same tensors. */
export function isSameModel(signature: Signature, told: RemoteDescription | undefined): boolean {
  if (told === undefined) return true;
  return (['inputs', 'outputs'] as const).every((side) =>
    signature[side].every(
      (spec) =>
        mismatch(
          spec,
          told[side].find(({ name }) => name === spec.name),
        ) === undefined,
    ),
  );
}

function mismatch(spec: TensorSpec, told: TensorSpec | undefined): string | undefined {
  if (told === undefined) return 'the remote model has no such tensor';
  if (told.datatype !== spec.datatype)
    return `the datatype there is ${told.datatype}, expected ${spec.datatype}`;
  const fits =
    told.shape.length === spec.shape.length &&
    told.shape.every(
      (length, axis) => length === -1 || spec.shape[axis] === -1 || length === spec.shape[axis],
    );
  if (fits) return undefined;
  return `the shape there is [${told.shape.join(', ')}], expected [${spec.shape.join(', ')}]`;
}

function garbage(what: string): PeerFailure {
  return new PeerFailure('garbage', `the remote engine's description of the model can not be read: ${what}`);
}
