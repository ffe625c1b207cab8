import { type Datatype, datatypeOfOnnx, onnxTypeOf, type Signature, type TensorOutput } from '@gimbal/core';
import ort from 'onnxruntime-node';
import type { PreparedTensor } from '../task.ts';

/** A session of onnxruntime on a sample model, spoken to in bytes as a runner does. */
export interface SampleSession {
  readonly signature: Signature;
  run(inputs: readonly PreparedTensor[]): Promise<readonly TensorOutput[]>;
  close(): Promise<void>;
}

const ELEMENTS = {
  FP32: Float32Array,
  FP64: Float64Array,
  INT32: Int32Array,
  INT64: BigInt64Array,
  UINT8: Uint8Array,
  BOOL: Uint8Array,
} as const;

/**
 * Opens a model file with one thread. `exactInt8` makes 8-bit products exact on CPUs without VNNI, whose instructions
 * saturate in the middle (onnxruntime, kOrtSessionOptionsX64QuantPrecision): slower, but the same on every machine.
 */
export async function openSample(
  file: string,
  { exactInt8 = false }: { exactInt8?: boolean } = {},
): Promise<SampleSession> {
  const session = await ort.InferenceSession.create(file, {
    intraOpNumThreads: 1,
    logSeverityLevel: 4,
    ...(exactInt8 ? { extra: { session: { x64quantprecision: '1' } } } : {}),
  });
  const signature = signatureOf(session);
  return {
    signature,
    close: () => session.release(),
    run: async (inputs) => {
      const feeds = Object.fromEntries(
        inputs.map((tensor, index) => {
          const spec = signature.inputs[index];
          if (spec === undefined) throw new Error('too many inputs');
          return [
            spec.name,
            new ort.Tensor(
              onnxTypeOf(spec.datatype) as 'float32',
              elements(spec.datatype, tensor),
              tensor.shape,
            ),
          ];
        }),
      );
      const results = await session.run(feeds);
      return signature.outputs.map(({ name }) => {
        const result = results[name];
        if (result === undefined) throw new Error(`no output ${name}`);
        const values = result.data as Float32Array;
        return {
          bytes: new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
          shape: [...result.dims],
        };
      });
    },
  };
}

function elements(datatype: Datatype, { bytes }: PreparedTensor): Float32Array {
  const Elements = ELEMENTS[datatype as keyof typeof ELEMENTS];
  const length = bytes.byteLength / Elements.BYTES_PER_ELEMENT;
  return new Elements(bytes.buffer as ArrayBuffer, bytes.byteOffset, length) as unknown as Float32Array;
}

function signatureOf(session: ort.InferenceSession): Signature {
  const tensors = (metadata: readonly ort.InferenceSession.ValueMetadata[]) =>
    metadata.map((value) => {
      if (!value.isTensor) throw new Error('not a tensor');
      return {
        name: value.name,
        datatype: datatypeOfOnnx(value.type) ?? 'FP32',
        shape: value.shape.map((length) => (typeof length === 'number' ? length : -1)),
        axisNames: value.shape.map((length) => (typeof length === 'number' ? null : length)),
      };
    });
  return {
    inputs: tensors(session.inputMetadata),
    outputs: tensors(session.outputMetadata),
    batchAxis: 'dynamic',
  };
}
