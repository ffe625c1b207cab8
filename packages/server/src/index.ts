export { type Host, type HostOptions, startHost } from './host/compose.ts';
export type { HostEvent } from './host/host-event.ts';
export { describeProblem, type FileProblem, placeOf } from './repository/file-problem.ts';
export { readSmallText } from './repository/folder-files.ts';
export type { ExternalFile, OnnxModel, OperatorCount, OperatorSet } from './repository/onnx-model.ts';
export { readOnnxModel } from './repository/onnx-reader.ts';
export {
  type ProcessorLimits,
  readMemoryLimitBytes,
  readProcessorLimits,
} from './repository/processor-limits.ts';
export { Repository, type RepositoryReading } from './repository/repository.ts';
export { versionDefaults } from './repository/version-defaults.ts';
export type {
  ReadVersion,
  RefusedVersion,
  VersionDefaults,
  VersionReading,
} from './repository/version-source.ts';
export { type RepositoryChange, RepositoryWatcher, type WatcherOptions } from './repository/watcher.ts';
export { MAX_YAML_BYTES, YamlDocument } from './repository/yaml-document.ts';
export { type OpenedArena, openArena } from './transport/open-arena.ts';
