import { createRequire } from 'node:module';
import { assert } from '@gimbal/core';

/** A tensor as the binding takes and gives it; strings as arrays of JavaScript strings. */
export interface OnnxValue {
  readonly type: string;
  readonly data: OnnxElements;
  readonly dims: readonly number[];
  readonly location?: 'cpu';
}

export type OnnxElements =
  | Float32Array
  | Float64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array
  | readonly string[];

export interface OnnxMetadata {
  readonly name: string;
  readonly isTensor: boolean;
  /** Element type by its number in onnx.proto. */
  readonly type: number;
  /** -1 where the length is free. */
  readonly shape: readonly number[];
  readonly symbolicDimensions: readonly string[];
}

export interface OnnxSession {
  loadModel(path: string, options: object): void;
  readonly inputMetadata: readonly OnnxMetadata[];
  readonly outputMetadata: readonly OnnxMetadata[];
  /** Blocks until the run has ended; throws when it fails. All outputs must be asked for, in their order. */
  run(
    feeds: Readonly<Record<string, OnnxValue>>,
    fetches: Readonly<Record<string, OnnxValue | null>>,
    options: object,
  ): Readonly<Record<string, OnnxValue>>;
  /** Writes the profile, where one was asked for, and measures no more. */
  endProfiling(): void;
  dispose(): void;
}

interface BindingModule {
  readonly binding: { readonly InferenceSession: new () => OnnxSession };
  initOrt(): void;
}

let loaded: BindingModule | undefined;

/**
 * A session of onnxruntime-node's native binding, without the package's promises and `setImmediate` around it: `run`
 * blocks the thread in any case, and the detour costs a turn of the event loop for each batch. The dependency is pinned
 * to one exact version; its tests here fail when an upgrade moves the binding.
 */
export function createOnnxSession(): OnnxSession {
  if (!loaded) {
    const module = createRequire(import.meta.url)('onnxruntime-node/dist/binding.js') as BindingModule;
    assert(typeof module.initOrt === 'function', 'onnxruntime-node is of the pinned version');
    module.initOrt();
    loaded = module;
  }
  return new loaded.binding.InferenceSession();
}
