import type { PipelineSpec } from './pipeline.ts';
import type { RemoteSpec } from './remote.ts';
import type { Signature } from './signature.ts';

export const TASKS = [
  'image-classification',
  'object-detection',
  'text-embedding',
  'text-classification',
  'tabular',
  'tensor',
] as const;

/** What a version is for; decides pre- and post-processing and the shape of native answers. */
export type Task = (typeof TASKS)[number];

/** How an encoded image becomes the model's input tensor. */
export interface ImageSpec {
  /** [width, height] of the network's input, in pixels; `multipleOf` instead when the model takes any size. */
  readonly size: readonly [number, number] | { readonly multipleOf: number; readonly maxSide: number };
  /** `centre`: a centred square of `cropRatio` × the shorter side; `none`: the whole picture is stretched. */
  readonly crop: 'centre' | 'none';
  readonly cropRatio: number;
  readonly resize: 'bicubic' | 'bilinear' | 'nearest';
  readonly colour: 'rgb' | 'bgr' | 'grey';
  readonly layout: 'nchw' | 'nhwc';
  /** Per channel: `(value - mean) / std` on values 0 to 255. */
  readonly mean: readonly number[];
  readonly std: readonly number[];
}

/** How a text becomes token tensors. */
export interface TextSpec {
  /** File name of a Hugging Face tokenizer.json inside the version's folder. */
  readonly tokenizer: string;
  /** Truncation, special tokens included. The tokenizer file's own truncation and padding are overridden. */
  readonly maxTokens: number;
  readonly padId: number;
  /** `auto`: pooled and normalised outside only when the graph's output still has a sequence axis. */
  readonly pooling: 'auto' | 'mean' | 'cls' | 'none';
  readonly normalise: boolean;
}

/** How raw detector outputs become boxes. */
export interface DetectionSpec {
  /** `centerface`: anchor-free heatmap/scale/offset/landmarks with stride 4 (Star-Clouds/CenterFace). */
  readonly decoder: 'centerface';
  readonly scoreThreshold: number;
  readonly nmsIou: number;
  readonly maxBoxes: number;
}

export interface ClassificationSpec {
  /** `auto`: softmax unless a row already sums to 1. */
  readonly activation: 'auto' | 'softmax' | 'sigmoid' | 'none';
  readonly topK: number;
}

export interface BatchingSpec {
  /** Most rows in one run; `auto` is decided by the self-profile. */
  readonly maxSize: number | 'auto';
  /** The longest that a row may be kept waiting for companions. */
  readonly maxDelayMs: number;
  /** Sizes to prefer when closing a batch, ascending; empty for none. */
  readonly preferredSizes: readonly number[];
}

export interface RunnerSpec {
  readonly count: number;
  /** Threads inside one run; `auto` is derived from cores and cgroup. */
  readonly threads: number | 'auto';
  /** Warm, loaded runners of each variant that take over at once when one is lost: 0 or 1. */
  readonly spare: number;
  /** Recycling: a replacement is ready before the old runner stops. 0 turns a limit off. */
  readonly recycleBatches: number;
  readonly recycleAgeMs: number;
  readonly recycleGrowthBytes: number;
}

/** One implementation of a version. */
export interface VariantSpec {
  readonly name: string;
  /** Absolute path of the .onnx file. */
  readonly file: string;
  /** Declared quality in [0, 1], for the ladder; undefined when not declared. */
  readonly qualityRatio: number | undefined;
  readonly image: ImageSpec | undefined;
  /** Someone else's server runs it: there is no file then. */
  readonly remote?: RemoteSpec;
  /** An operation of the runner program itself: there is no file then. */
  readonly builtin?: 'crop';
}

/** A value that nobody declared, and why it is what it is; printed at load and by `gimbal inspect`. */
export interface Derivation {
  readonly field: string;
  readonly value: string;
  readonly because: string;
}

/** Everything about one version on disk, complete: what was not declared has been derived. Immutable. */
export interface VersionSpec {
  readonly model: string;
  readonly version: string;
  /** Absolute path of the version's folder; files of the version are looked up inside it and nowhere else. */
  readonly folder: string;
  /** Identity: sha256 over all artefacts and the configuration, hex. */
  readonly digest: string;
  readonly task: Task;
  /** As read from the best variant's file; confirmed by the runner at load. */
  readonly signature: Signature;
  /** Best first: the degradation ladder. At least one. */
  readonly variants: readonly VariantSpec[];
  readonly labels: readonly string[] | undefined;
  /** Column names of a tabular model's input, when declared. */
  readonly columns: readonly string[] | undefined;
  readonly text: TextSpec | undefined;
  readonly detection: DetectionSpec | undefined;
  readonly classification: ClassificationSpec;
  readonly batching: BatchingSpec;
  readonly runners: RunnerSpec;
  /** Applied to requests that bring none. */
  readonly deadlineMs: number;
  /** `error`: NaN or Infinity in a float output is OUTPUT_INVALID; `allow`: passed on. */
  readonly nonFiniteOutputs: 'error' | 'allow';
  /** Whether a request may be run again after a runner was lost with it: no run has effects outside. */
  readonly repeatable: boolean;
  /** Whether equal requests may get a kept answer. */
  readonly cached: boolean;
  readonly derivations: readonly Derivation[];
  /** It is composed of other models: it has no runners of its own then, and one variant in name only. */
  readonly pipeline?: PipelineSpec;
}

export type VersionState = 'loading' | 'ready' | 'unloading' | 'unavailable';

/** Fitted time of one run, `fixedMs + perRowMs × rows`, from the self-profile at load and every batch since. */
export interface CostProfile {
  readonly fixedMs: number;
  readonly perRowMs: number;
  /** What was measured: medians of a few runs at each batch size. */
  readonly points: readonly { readonly rows: number; readonly medianMs: number }[];
  /** Most rows worth putting in one run. 1 when batching does not pay. */
  readonly bestRows: number;
}
