export type {
  Health,
  HealthChecks,
  ModelCatalogue,
  ModelDetail,
  ModelSummary,
  ReadOptions,
  TensorSummary,
  VersionSummary,
} from './catalogue.ts';
export { Client } from './client.ts';
export type { ClientOptions, HedgeOptions } from './client-options.ts';
export {
  AbortError,
  AnswerError,
  AuthenticationError,
  ConflictError,
  ConnectionError,
  DeadlineError,
  type ErrorFacts,
  type FieldError,
  GimbalError,
  NotFoundError,
  OverloadedError,
  RateLimitError,
  ServerError,
  ValidationError,
} from './errors.ts';
export type { AttemptErrorEvent, AttemptEvent, Hooks, ResponseEvent, RetryEvent } from './hooks.ts';
export type { InferOptions, ParameterValue } from './infer-options.ts';
export type { InferPromise, WithResponse } from './infer-promise.ts';
export type { ItemResult, ListAnswer, ModelClient, TensorOptions } from './model.ts';
export { type Ports, systemPorts } from './ports.ts';
export type {
  AnswerHead,
  Detection,
  ImageInput,
  JsonElements,
  JsonOutput,
  ModelType,
  ModelTypes,
  NativeAnswer,
  NativeInput,
  Prediction,
  Task,
  TensorAnswer,
  TensorInput,
  TensorOutput,
  TensorType,
  Timings,
} from './schema.ts';
export type { Datatype, ElementSource, TensorElements } from './tensor/datatype.ts';
export { type Tensor, tensor, textsOf } from './tensor/tensor.ts';
