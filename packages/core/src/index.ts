export { AssertionError, assert, unreachable } from './base/assert.ts';
export { nearestName } from './base/nearest-name.ts';
export { type Random, randomInteger, SeededRandom } from './base/random.ts';
export { type Clock, type Instant, NEVER } from './base/time.ts';
export type { CallObserver, CallRecord } from './contract/call-record.ts';
export type {
  DecisionObserver,
  DecisionRecord,
  DecisionSituation,
  LadderReport,
  LostRun,
} from './contract/decision.ts';
export type {
  Block,
  Call,
  CallContext,
  CatalogueEntry,
  Criticality,
  DurationStatistic,
  InferencePort,
  Protocol,
  VersionStatistics,
  VersionView,
} from './contract/inference-port.ts';
export {
  type BatchingSpec,
  type ClassificationSpec,
  type CostProfile,
  type Derivation,
  type DetectionSpec,
  type ImageSpec,
  type RunnerSpec,
  TASKS,
  type Task,
  type TextSpec,
  type VariantSpec,
  type VersionSpec,
  type VersionState,
} from './contract/model.ts';
export {
  REMOTE_PROTOCOLS,
  type RemoteHeader,
  type RemoteProtocol,
  type RemoteSpec,
  type RemoteTls,
} from './contract/remote.ts';
export type { FaultOrder, RunnerFault, RunnerFaultKind } from './contract/runner-fault.ts';
export type {
  BatchJob,
  BatchReport,
  JobPart,
  PartReport,
  PoolEvents,
  PoolNotice,
  RunnerEnd,
  RunnerPool,
  RunnerReady,
  RunnerState,
  RunnerView,
} from './contract/runner-port.ts';
export type { BatchAxis, Signature, TensorSpec } from './contract/signature.ts';
export {
  DEFAULT_STREAM_LIMITS,
  type PieceReport,
  type StreamLimits,
  type StreamPiece,
  type StreamTerms,
} from './contract/stream.ts';
export type {
  AnswerParameters,
  CachedHow,
  DegradationReason,
  PartOutput,
  Span,
  StageTimings,
  TensorInput,
  TensorOutput,
  Want,
  WorkDone,
  WorkFailed,
  WorkInput,
  WorkRequest,
  WorkResult,
} from './contract/work.ts';
export { STREAMED } from './contract/work.ts';
export type { Admission } from './engine/admission.ts';
export type { Arrival } from './engine/arriving.ts';
export type { Batch, BatchPart } from './engine/batch.ts';
export { type Ask, Engine } from './engine/engine.ts';
export type { EngineDriver, ProbeWanted, RunnerLoss, RunnerPlace } from './engine/engine-driver.ts';
export type { WorkOutcome } from './engine/outcome.ts';
export type { Pool, PoolOptions } from './engine/pool.ts';
export type { PoolView } from './engine/pool-view.ts';
export { LANES } from './engine/queue.ts';
export type { EngineVersionOptions, VersionLadder } from './engine/version-ladder.ts';
export { type QualityDemand, Work, type WorkOptions } from './engine/work.ts';
export {
  type FieldError,
  GimbalError,
  type GimbalErrorOptions,
  isGimbalError,
  toGimbalError,
} from './errors/gimbal-error.ts';
export {
  type BreakerWeight,
  ERROR_CODES,
  ERROR_REGISTRY,
  type ErrorCode,
  type ErrorRow,
  errorRow,
  type Outcome,
  type RetryAdvice,
} from './errors/registry.ts';
export {
  AnswerCache,
  type AnswerCacheCounters,
  type CachedAnswer,
  type CacheLookup,
} from './policy/cache/answer-cache.ts';
export type { Flight, Follower, Lead, LeaderAnswer } from './policy/cache/flight.ts';
export { type AnswerCacheOptions, DEFAULT_ANSWER_CACHE_OPTIONS } from './policy/cache/options.ts';
export type { DeviceCondition } from './policy/devices/device-condition.ts';
export { DeviceFleet, type FleetDeviceView, type FleetOptions } from './policy/devices/device-fleet.ts';
export { DeviceHealth, type DeviceRun, type DeviceState } from './policy/devices/device-health.ts';
export { LeakDetector, type LeakVerdict, type MemorySample } from './policy/leak/leak-detector.ts';
export { DEFAULT_LEAK_OPTIONS, type LeakOptions } from './policy/leak/options.ts';
export {
  DEFAULT_QUEUE_DELAY_LIMITER_OPTIONS,
  type QueueDelayLimiterOptions,
} from './policy/limiter/options.ts';
export { type LimiterAsk, QueueDelayLimiter } from './policy/limiter/queue-delay-limiter.ts';
export {
  MemoryPressure,
  type MemorySituation,
  type PressureLevel,
  type PressureStep,
} from './policy/pressure/memory-pressure.ts';
export { DEFAULT_PRESSURE_OPTIONS, type PressureOptions } from './policy/pressure/options.ts';
export {
  DEFAULT_QUARANTINE_OPTIONS,
  DEFAULT_VERDICT_OPTIONS,
  type QuarantineOptions,
  type VerdictOptions,
} from './policy/quarantine/options.ts';
export { type PoisonInput, Quarantine, type QuarantinedInput } from './policy/quarantine/quarantine.ts';
export {
  judge,
  type RunEnd,
  type RunEndCause,
  type Verdict,
  type VerdictKind,
} from './policy/quarantine/verdict.ts';
export { DEFAULT_RESTART_OPTIONS, type RestartOptions } from './policy/restart/options.ts';
export { RestartBackoff, type RestartDecision, type RunnerExit } from './policy/restart/restart.ts';
export { bytesTensorFault } from './tensor/bytes-tensor.ts';
export {
  byteSizeOf,
  DATATYPES,
  type Datatype,
  datatypeOfOnnx,
  isDatatype,
  onnxTypeOf,
} from './tensor/datatype.ts';
export { type TensorText, writeTensorText } from './tensor/format-tensor.ts';
export { fromHalf } from './tensor/half.ts';
export { jsonPointerAt } from './tensor/json-pointer.ts';
export { JsonScan } from './tensor/json-scan.ts';
export { type JsonTensor, readJsonTensor } from './tensor/json-tensor.ts';
export { JsonText } from './tensor/json-text.ts';
export { describeMismatch, elementCount, MAX_AXES, shapeMismatch, tensorByteLength } from './tensor/shape.ts';
