import type { Datatype } from './tensor/datatype.ts';
import type { Tensor } from './tensor/tensor.ts';

/** What a model is for. */
export type Task =
  | 'image-classification'
  | 'object-detection'
  | 'text-embedding'
  | 'text-classification'
  | 'tabular'
  | 'tensor';

export interface TensorType {
  readonly datatype: Datatype;
  /** `number` where a length is free. */
  readonly shape: readonly number[];
}

/** What the compiler knows of a model; `gimbal generate client` writes it. */
export interface ModelType {
  readonly task: Task;
  readonly inputs: Readonly<Record<string, TensorType>>;
  readonly outputs: Readonly<Record<string, TensorType>>;
  /** Names of the columns of a tabular model. */
  readonly columns: string;
}

export type ModelTypes = Readonly<Record<string, ModelType>>;

type Tensors<Types extends Readonly<Record<string, TensorType>>> = {
  readonly [Name in keyof Types]: Tensor<Types[Name]['datatype'], Types[Name]['shape']>;
};

/** A tensor for each input, by name. */
export type TensorInput<Model extends ModelType> = Tensors<Model['inputs']>;

/** A tensor for each output, by name. */
export type TensorOutput<Model extends ModelType> = Tensors<Model['outputs']>;

/** An encoded picture: bytes, a file, or base64 as a text or data URI. */
export type ImageInput = Blob | Uint8Array | ArrayBuffer | ReadableStream<Uint8Array> | string;

/** Numbers, nested as the shape has them or flat. */
export type JsonElements =
  | number
  | boolean
  | string
  | readonly JsonElements[]
  | Int8Array
  | Int16Array
  | Int32Array
  | Uint8ClampedArray
  | Uint16Array
  | Uint32Array
  | Float32Array
  | Float64Array;

type ByName<Model extends ModelType> = { readonly [Name in keyof Model['inputs']]: JsonElements };

/** One row by the names of its columns. */
type Columns<Model extends ModelType> = [Model['columns']] extends [never]
  ? never
  : { readonly [Column in Model['columns']]: number | string | boolean };

/** What the native API takes, by task. */
export type NativeInput<Model extends ModelType> = {
  readonly 'image-classification': ImageInput | { readonly image: string };
  readonly 'object-detection': ImageInput | { readonly image: string };
  readonly 'text-embedding': string | { readonly text: string };
  readonly 'text-classification': string | { readonly text: string };
  readonly tabular: JsonElements | Columns<Model> | ByName<Model>;
  readonly tensor: JsonElements | ByName<Model>;
}[Model['task']];

export interface Prediction {
  readonly classId: number;
  readonly label: string | null;
  readonly confidence: number;
}

export interface Detection extends Prediction {
  /** `[x1, y1, x2, y2]` in pixels of the upright picture. */
  readonly bbox: readonly [number, number, number, number];
  /** Points of it, `[x, y, x, y, …]` in the same pixels, of models that find some. */
  readonly landmarks?: readonly number[];
}

/** Rows of numbers, nested as the output's shape. */
export type JsonOutput = number | boolean | string | null | readonly JsonOutput[];

type Outputs<Model extends ModelType> = { readonly [Name in keyof Model['outputs']]: JsonOutput };

/** What a model answers, by task. */
interface TaskResults<Model extends ModelType> {
  readonly 'image-classification': { readonly predictions: readonly Prediction[] };
  readonly 'object-detection': { readonly predictions: readonly Detection[] };
  readonly 'text-embedding': { readonly embedding: readonly number[] };
  readonly 'text-classification': { readonly predictions: readonly Prediction[] };
  /** `predictions` of classifiers with labels. */
  readonly tabular: { readonly outputs: Outputs<Model>; readonly predictions?: readonly Prediction[] };
  readonly tensor: { readonly outputs: Outputs<Model>; readonly predictions?: readonly Prediction[] };
}

/** A model that the compiler knows nothing of answers with any of these. */
interface UnknownResult {
  readonly predictions?: readonly (Prediction & Partial<Detection>)[];
  readonly embedding?: readonly number[];
  readonly outputs?: Readonly<Record<string, JsonOutput>>;
}

export type NativeResult<Model extends ModelType> = [Task] extends [Model['task']]
  ? UnknownResult
  : TaskResults<Model>[Model['task']];

/** How an answer was made. */
export interface AnswerHead {
  readonly model: string;
  readonly version: string;
  readonly variant: string;
  /** True when it was not the best variant. */
  readonly degraded: boolean;
  /** 0 is the best variant. */
  readonly rung: number;
  /** Why it was degraded: `overload`, `unavailable`, …. */
  readonly degradedReason: string | undefined;
  readonly requestId: string | undefined;
  /** Where the server's time went. */
  readonly timings: Timings;
}

/** In ms; a stage that the server does not tell is 0. */
export interface Timings {
  readonly queueMs: number;
  readonly batchMs: number;
  readonly preprocessMs: number;
  readonly inferMs: number;
  readonly postprocessMs: number;
  readonly totalMs: number;
}

export type NativeAnswer<Model extends ModelType> = AnswerHead & NativeResult<Model>;

export type TensorAnswer<Model extends ModelType> = AnswerHead & { readonly outputs: TensorOutput<Model> };
