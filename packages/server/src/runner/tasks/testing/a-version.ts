import type { Datatype, ImageSpec, Signature, TensorSpec, VersionSpec } from '@gimbal/core';

/** A tensor of a signature; `anOutput('scores', 'FP32', [-1, 1000])`. */
export function aTensor(name: string, datatype: Datatype, shape: readonly number[]): TensorSpec {
  return { name, datatype, shape, axisNames: shape.map(() => null) };
}

export function aSignature(part: Partial<Signature>): Signature {
  return { inputs: [], outputs: [], batchAxis: 'dynamic', ...part };
}

export const LITE2_IMAGE: ImageSpec = {
  size: [260, 260],
  crop: 'centre',
  cropRatio: 260 / 292,
  resize: 'bicubic',
  colour: 'rgb',
  layout: 'nchw',
  mean: [127, 127, 127],
  std: [128, 128, 128],
};

export const LITE0_IMAGE: ImageSpec = { ...LITE2_IMAGE, size: [224, 224], cropRatio: 224 / 256 };

export const FACES_IMAGE: ImageSpec = {
  ...LITE2_IMAGE,
  size: { multipleOf: 32, maxSide: 1280 },
  crop: 'none',
  resize: 'bilinear',
  mean: [0, 0, 0],
  std: [1, 1, 1],
};

/** A complete version; tests say only what matters to them. */
export function aVersion(part: Partial<VersionSpec>): VersionSpec {
  return {
    model: 'sample',
    version: '1',
    folder: '/nowhere',
    digest: '0'.repeat(64),
    task: 'tensor',
    signature: aSignature({}),
    variants: [{ name: 'only', file: '/nowhere/model.onnx', qualityRatio: undefined, image: undefined }],
    labels: undefined,
    columns: undefined,
    text: undefined,
    detection: undefined,
    classification: { activation: 'auto', topK: 5 },
    batching: { maxSize: 'auto', maxDelayMs: 5, preferredSizes: [] },
    runners: { count: 1, threads: 1, spare: 0, recycleBatches: 0, recycleAgeMs: 0, recycleGrowthBytes: 0 },
    deadlineMs: 1_000,
    nonFiniteOutputs: 'error',
    repeatable: true,
    cached: false,
    derivations: [],
    ...part,
  };
}
