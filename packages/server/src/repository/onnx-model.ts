import type { TensorSpec } from '@gimbal/core';

export interface OperatorSet {
  /** "" is ai.onnx. */
  readonly domain: string;
  readonly version: number;
}

export interface OperatorCount {
  readonly domain: string;
  readonly name: string;
  readonly count: number;
}

/** A file beside the model that holds tensor data. */
export interface ExternalFile {
  /** As the model says it, relative to the model's folder. */
  readonly location: string;
  /** Absolute path. */
  readonly path: string;
  readonly byteLength: number;
}

/** What an .onnx file says of itself. */
export interface OnnxModel {
  readonly irVersion: number;
  readonly operatorSets: readonly OperatorSet[];
  readonly producer: { readonly name: string; readonly version: string };
  readonly graphName: string;
  /** Without those that have an initializer. */
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  /** Names of inputs and outputs whose rank the file does not say; their shape is []. */
  readonly unknownRanks: readonly string[];
  /** Most frequent first, subgraphs and functions included. */
  readonly operators: readonly OperatorCount[];
  readonly operatorTotal: number;
  readonly initializers: { readonly count: number; readonly byteLength: number };
  readonly externalFiles: readonly ExternalFile[];
  readonly byteLength: number;
}
