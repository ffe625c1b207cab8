import { byteSizeOf, elementCount, GimbalError, type VersionSpec } from '@gimbal/core';
import { type InferHead, malformed } from './infer-head.ts';

/**
 * A raw binary request (length header 0): the whole body is the model's one input, of batch 1; all outputs come back in
 * binary. At most one axis besides the batch's may be free: its length follows from the body's.
 */
export function rawHead(body: Uint8Array, spec: VersionSpec): { head: InferHead; bytes: Uint8Array } {
  const { inputs, batchAxis } = spec.signature;
  const input = inputs[0];
  if (!input || inputs.length !== 1) {
    throw malformed(`a raw binary request needs a model with one input, and this one has ${inputs.length}`);
  }
  const shape = [...input.shape];
  if (batchAxis === 'dynamic') shape[0] = 1;
  const bytes = input.datatype === 'BYTES' ? oneElement(body) : body;
  const free = shape.flatMap((length, axis) => (length < 0 ? [axis] : []));
  if (free.length > 1)
    throw malformed(
      `a raw binary request needs a model with at most one free axis, and this one has ${free.length}`,
    );
  const [axis] = free;
  if (axis !== undefined) shape[axis] = freeLength(body, shape, { datatype: input.datatype, axis });
  const source = { kind: 'binary' as const, byteLength: bytes.length };
  return {
    head: {
      id: '',
      inputs: [{ name: input.name, datatype: input.datatype, shape, source }],
      outputs: [],
      binaryOutput: true,
      timeoutMicros: undefined,
    },
    bytes,
  };
}

function freeLength(
  body: Uint8Array,
  shape: readonly number[],
  { datatype, axis }: { datatype: Parameters<typeof byteSizeOf>[0]; axis: number },
): number {
  if (datatype === 'BYTES') return 1;
  const others = elementCount(shape.map((length, index) => (index === axis ? 1 : length))) ?? 0;
  const stride = others * byteSizeOf(datatype);
  if (stride > 0 && body.length % stride === 0) return body.length / stride;
  throw new GimbalError(
    'INVALID_INPUT',
    `Cannot use the raw input: expected a multiple of ${stride} bytes, got ${body.length}`,
  );
}

/** The body as the one element of a BYTES tensor. */
function oneElement(body: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(4 + body.length);
  new DataView(bytes.buffer).setUint32(0, body.length, true);
  bytes.set(body, 4);
  return bytes;
}
