// Apart from the package's index: the schema library that it needs is not loaded by runners and clients.
export { describeByteSize, formatByteSize, parseByteSize } from './config/byte-size.ts';
export { type Configuration, configurationSchema } from './config/configuration.ts';
export {
  configurationJsonSchema,
  configurationMarkdown,
  modelFileJsonSchema,
  versionFileJsonSchema,
} from './config/configuration-reference.ts';
export { formatDurationMs, parseDurationMs } from './config/duration.ts';
export {
  CONFIGURATION_FIELDS,
  type ConfigurationField,
  type ConfigurationSection,
  configurationSections,
} from './config/field-list.ts';
export {
  type CheckedDocument,
  type ConfigurationProblem,
  checkDocument,
  fieldName,
  quoteValue,
} from './config/problem.ts';
export type { DeclaredRemote } from './config/remote-section.ts';
export {
  type ConfigurationOrigin,
  type ConfigurationSources,
  type OriginatedProblem,
  type ResolvedConfiguration,
  resolveConfiguration,
} from './config/resolve-configuration.ts';
export {
  type DeclaredImage,
  EMPTY_VERSION_FILE,
  type ModelFile,
  modelFileSchema,
  type VersionFile,
  versionFileSchema,
} from './config/version-file.ts';
