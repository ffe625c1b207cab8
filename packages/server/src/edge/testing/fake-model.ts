import type { CostProfile, Signature, TensorSpec, VersionSpec, VersionStatistics } from '@gimbal/core';

/** An input as a fake model sees it: a view of the fake arena. */
export interface FakeTensor {
  readonly bytes: Uint8Array;
  readonly shape: readonly number[];
}

/** A version that computes in the test's own process. */
export interface FakeModel {
  readonly spec: VersionSpec;
  readonly maxRows: number;
  readonly profile: CostProfile | undefined;
  /** Raw outputs, index-aligned with the signature's. */
  compute(inputs: readonly FakeTensor[]): readonly FakeTensor[];
  /** JSON members of a task's answer, without braces, from one encoded input or the raw tensors' JSON. */
  answer(encoded: Uint8Array, parameters: { topK: number; threshold: number }): string;
  /** Of a model that streams, in place of the two above: what it yields. */
  stream?(inputs: readonly FakeTensor[]): readonly FakePiece[];
}

/** One piece as raw outputs, and as JSON members. */
export interface FakePiece {
  readonly outputs: readonly FakeTensor[];
  readonly answer: string;
}

export function aTensorSpec(
  name: string,
  datatype: TensorSpec['datatype'],
  shape: readonly number[],
): TensorSpec {
  return { name, datatype, shape, axisNames: shape.map((length) => (length === -1 ? 'batch' : null)) };
}

export function aSignature(parts: Partial<Signature> = {}): Signature {
  return {
    inputs: [aTensorSpec('X', 'FP32', [-1, 4])],
    outputs: [aTensorSpec('Y', 'FP32', [-1, 4])],
    batchAxis: 'dynamic',
    ...parts,
  };
}

export function aVersionSpec(parts: Partial<VersionSpec> = {}): VersionSpec {
  return {
    model: 'echo',
    version: '1',
    folder: '/models/echo/1',
    digest: '0'.repeat(64),
    task: 'tensor',
    signature: aSignature(),
    variants: [
      { name: 'default', file: '/models/echo/1/model.onnx', qualityRatio: undefined, image: undefined },
    ],
    labels: undefined,
    columns: undefined,
    text: undefined,
    detection: undefined,
    classification: { activation: 'auto', topK: 5 },
    batching: { maxSize: 'auto', maxDelayMs: 5, preferredSizes: [] },
    runners: { count: 1, threads: 1, spare: 0, recycleBatches: 0, recycleAgeMs: 0, recycleGrowthBytes: 0 },
    deadlineMs: 1000,
    nonFiniteOutputs: 'allow',
    repeatable: true,
    cached: false,
    derivations: [],
    ...parts,
  };
}

export function aFakeModel(parts: Partial<FakeModel> = {}): FakeModel {
  return {
    spec: aVersionSpec(),
    maxRows: 8,
    profile: { fixedMs: 1, perRowMs: 0.1, points: [{ rows: 1, medianMs: 1.1 }], bestRows: 8 },
    compute: (inputs) => inputs,
    answer: (encoded) => `"predictions":[{"bytes":${encoded.length}}]`,
    ...parts,
  };
}

/** Every input comes back as the output of the same place, bit for bit. */
export function anEchoModel(
  name: string,
  tensors: readonly TensorSpec[],
  parts: { batchAxis?: Signature['batchAxis']; spec?: Partial<VersionSpec> } = {},
): FakeModel {
  const outputs = tensors.map((spec) => ({ ...spec, name: `${spec.name}_out` }));
  return aFakeModel({
    spec: aVersionSpec({
      model: name,
      signature: { inputs: tensors, outputs, batchAxis: parts.batchAxis ?? 'dynamic' },
      ...parts.spec,
    }),
  });
}

/** BYTES in, its words out, one piece each: "text" becomes "token". */
export function aWordsModel(name = 'words', parts: Partial<VersionSpec> = {}): FakeModel {
  return aFakeModel({
    spec: aVersionSpec({
      model: name,
      signature: {
        inputs: [aTensorSpec('text_input', 'BYTES', [1])],
        outputs: [aTensorSpec('text_output', 'BYTES', [1])],
        batchAxis: 'none',
        streams: true,
      },
      ...parts,
    }),
    stream: ([text]) =>
      Buffer.from(text?.bytes.subarray(4) ?? [])
        .toString()
        .split(' ')
        .map((word) => ({
          outputs: [{ bytes: aText(word), shape: [1] }],
          answer: `"outputs":{"text_output":[${JSON.stringify(word)}]}`,
        })),
  });
}

function aText(text: string): Uint8Array {
  const bytes = Buffer.alloc(4 + Buffer.byteLength(text));
  bytes.writeUInt32LE(bytes.length - 4);
  bytes.write(text, 4);
  return bytes;
}

/** Triton's `simple`: INPUT0 and INPUT1 of 16 INT32, their sum and difference. */
export function anAddSubModel(name = 'add-sub'): FakeModel {
  return aFakeModel({
    spec: aVersionSpec({
      model: name,
      signature: {
        inputs: [aTensorSpec('INPUT0', 'INT32', [-1, 16]), aTensorSpec('INPUT1', 'INT32', [-1, 16])],
        outputs: [aTensorSpec('OUTPUT0', 'INT32', [-1, 16]), aTensorSpec('OUTPUT1', 'INT32', [-1, 16])],
        batchAxis: 'dynamic',
      },
    }),
    compute: addAndSubtract,
  });
}

function addAndSubtract(inputs: readonly FakeTensor[]): readonly FakeTensor[] {
  const [left, right] = inputs;
  if (!left || !right) throw new Error('add-sub has two inputs');
  const leftView = new DataView(left.bytes.buffer, left.bytes.byteOffset, left.bytes.byteLength);
  const rightView = new DataView(right.bytes.buffer, right.bytes.byteOffset, right.bytes.byteLength);
  const sums = new Int32Array(left.bytes.byteLength / 4);
  const differences = new Int32Array(sums.length);
  for (let index = 0; index < sums.length; index += 1) {
    const a = leftView.getInt32(index * 4, true);
    const b = rightView.getInt32(index * 4, true);
    sums[index] = a + b;
    differences[index] = a - b;
  }
  return [
    { bytes: new Uint8Array(sums.buffer), shape: left.shape },
    { bytes: new Uint8Array(differences.buffer), shape: left.shape },
  ];
}

const NOTHING = { count: 0, ns: 0n };

/** Statistics of a version that was never asked. */
export function emptyStatistics(): VersionStatistics {
  return {
    lastInferenceMs: 0,
    inferenceCount: 0,
    executionCount: 0,
    success: NOTHING,
    fail: NOTHING,
    queue: NOTHING,
    computeInput: NOTHING,
    computeInfer: NOTHING,
    computeOutput: NOTHING,
    batches: [],
  };
}
