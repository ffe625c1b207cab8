import { fileURLToPath } from 'node:url';
import type { Datatype, RunnerSpec, Signature, TensorSpec, VersionSpec } from '@gimbal/core';

const MODELS = fileURLToPath(new URL('../../../../../tests/fixtures/models/', import.meta.url));

type Axis = number | string;

function tensor(name: string, datatype: Datatype, axes: readonly Axis[]): TensorSpec {
  return {
    name,
    datatype,
    shape: axes.map((axis) => (typeof axis === 'number' ? axis : -1)),
    axisNames: axes.map((axis) => (typeof axis === 'number' ? null : axis)),
  };
}

const ALL_TYPES: readonly [string, Datatype][] = [
  ['bool', 'BOOL'],
  ['uint8', 'UINT8'],
  ['int8', 'INT8'],
  ['uint16', 'UINT16'],
  ['int16', 'INT16'],
  ['uint32', 'UINT32'],
  ['int32', 'INT32'],
  ['uint64', 'UINT64'],
  ['int64', 'INT64'],
  ['fp16', 'FP16'],
  ['fp32', 'FP32'],
  ['fp64', 'FP64'],
  ['string', 'BYTES'],
];

const B = ['batch', 'length'];

const SIGNATURES = {
  'add-sub': {
    inputs: ['INPUT0', 'INPUT1'].map((name) => tensor(name, 'INT32', ['batch', 16])),
    outputs: ['OUTPUT0', 'OUTPUT1'].map((name) => tensor(name, 'INT32', ['batch', 16])),
  },
  'all-types': {
    inputs: ALL_TYPES.map(([name, datatype]) => tensor(`in_${name}`, datatype, B)),
    outputs: ALL_TYPES.map(([name, datatype]) => tensor(`out_${name}`, datatype, B)),
  },
  'bad-shape': {
    inputs: [tensor('INPUT0', 'FP32', B)],
    outputs: [tensor('OUTPUT0', 'FP32', ['batch', 'groups', 4])],
  },
  'digits-mlp': {
    inputs: [tensor('pixels', 'FP32', ['batch', 64])],
    outputs: [tensor('label', 'INT64', ['batch']), tensor('probabilities', 'FP32', ['batch', 10])],
  },
  'identity-fp32': {
    inputs: [tensor('INPUT0', 'FP32', B)],
    outputs: [tensor('OUTPUT0', 'FP32', B)],
  },
  'memory-hog': {
    inputs: [tensor('megabytes', 'INT64', ['batch', 1])],
    outputs: [tensor('bytes', 'INT64', ['batch', 1]), tensor('sum', 'FP32', ['batch', 1])],
  },
  'nan-maker': {
    inputs: [tensor('INPUT0', 'FP32', B)],
    outputs: [tensor('OUTPUT0', 'FP32', B), tensor('PROBABILITIES', 'FP32', B)],
  },
  'poison-gather': {
    inputs: [tensor('INDEX', 'INT64', ['batch', 1])],
    outputs: [tensor('VALUE', 'FP32', ['batch', 1])],
  },
  'sequence-slow': {
    inputs: [tensor('iterations', 'INT64', ['batch', 1])],
    outputs: [tensor('iterations_done', 'INT64', ['batch', 1]), tensor('checksum', 'FP32', ['batch', 1])],
  },
  'string-echo': {
    inputs: [tensor('INPUT0', 'BYTES', B)],
    outputs: [tensor('OUTPUT0', 'BYTES', B)],
  },
} satisfies Record<string, Omit<Signature, 'batchAxis'>>;

export type SampleModel = keyof typeof SIGNATURES;

export type SampleParts = Partial<Omit<VersionSpec, 'runners'>> & { readonly runners?: Partial<RunnerSpec> };

/** A version of one of the fixture models, as the repository would derive it; tests say only what matters to them. */
export function sampleVersion(model: SampleModel, parts: SampleParts = {}): VersionSpec {
  const folder = `${MODELS}${model}/1`;
  return {
    model,
    version: '1',
    folder,
    digest: '0'.repeat(64),
    task: 'tensor',
    signature: { ...SIGNATURES[model], batchAxis: 'dynamic' },
    variants: [{ name: 'model', file: `${folder}/model.onnx`, qualityRatio: undefined, image: undefined }],
    labels: undefined,
    columns: undefined,
    text: undefined,
    detection: undefined,
    classification: { activation: 'auto', topK: 5 },
    batching: { maxSize: 'auto', maxDelayMs: 5, preferredSizes: [] },
    deadlineMs: 1000,
    nonFiniteOutputs: 'error',
    repeatable: true,
    cached: false,
    derivations: [],
    ...parts,
    runners: {
      count: 1,
      threads: 1,
      spare: 0,
      recycleBatches: 0,
      recycleAgeMs: 0,
      recycleGrowthBytes: 0,
      ...parts.runners,
    },
  };
}
