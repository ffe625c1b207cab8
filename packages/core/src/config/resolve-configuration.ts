import { nearestName } from '../base/nearest-name.ts';
import { type Configuration, configurationSchema } from './configuration.ts';
import { CONFIGURATION_FIELDS, type ConfigurationField } from './field-list.ts';
import { fromText } from './leaf.ts';
import { type ConfigurationProblem, checkDocument, fieldName } from './problem.ts';

/** Where a value came from; a flag beats the environment, which beats the file, which beats the default. */
export type ConfigurationOrigin =
  | { readonly kind: 'flag'; readonly name: string }
  | { readonly kind: 'environment'; readonly name: string }
  | { readonly kind: 'file' }
  | { readonly kind: 'default' };

export interface ConfigurationSources {
  /** gimbal.yaml as plain values; undefined when there is no file. */
  readonly file: unknown;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** By field name (`http.port`), as written on the command line. */
  readonly flags: Readonly<Record<string, { readonly name: string; readonly text: string } | undefined>>;
}

export interface OriginatedProblem extends ConfigurationProblem {
  readonly origin: ConfigurationOrigin;
}

export type ResolvedConfiguration =
  | {
      readonly ok: true;
      readonly configuration: Configuration;
      /** Of each field that has no default value. */
      readonly origins: ReadonlyMap<string, ConfigurationOrigin>;
      /** Things that are probably mistakes but stop nothing, for people. */
      readonly notes: readonly string[];
    }
  | { readonly ok: false; readonly problems: readonly OriginatedProblem[] };

/** Variables with our prefix that mean something else: read by the command line itself. */
const OTHER_VARIABLES = new Set([
  'GIMBAL_CONFIG',
  'GIMBAL_URL',
  'GIMBAL_ADMIN_URL',
  'GIMBAL_END_WITH_PARENT',
  'GIMBAL_NVML_LIBRARY',
  'GIMBAL_NVIDIA_SMI',
]);

/** Kubernetes gives each pod such variables for a service named "gimbal". */
const KUBERNETES_VARIABLE = /^GIMBAL_(SERVICE_(HOST|PORT)|PORT)(_|$)/;

/** The whole configuration from its sources, or everything that is wrong with them. */
export function resolveConfiguration(sources: ConfigurationSources): ResolvedConfiguration {
  const origins = new Map<string, ConfigurationOrigin>();
  const raw = copyOfFile(sources.file);
  for (const field of CONFIGURATION_FIELDS) {
    const origin = overlay(raw, field, sources);
    if (origin !== undefined) origins.set(field.name, origin);
  }
  const checked = checkDocument(configurationSchema, raw);
  if (checked.ok) {
    return { ok: true, configuration: checked.value, origins, notes: strayVariables(sources.environment) };
  }
  return {
    ok: false,
    problems: checked.problems.map((problem) => ({ ...problem, origin: originOf(problem.path, origins) })),
  };
}

/** Puts the field's strongest value into the tree and says where it came from. */
function overlay(
  raw: unknown,
  field: ConfigurationField,
  sources: ConfigurationSources,
): ConfigurationOrigin | undefined {
  const flag = sources.flags[field.name];
  if (flag !== undefined) {
    set(raw, field.path, fromText(field.kind, flag.text));
    return { kind: 'flag', name: flag.name };
  }
  const variable = sources.environment[field.environment];
  if (variable !== undefined && variable !== '') {
    set(raw, field.path, fromText(field.kind, variable));
    return { kind: 'environment', name: field.environment };
  }
  return isSet(raw, field.path) ? { kind: 'file' } : undefined;
}

/** Sections and values are copied: the caller's tree stays as it is. */
function copyOfFile(file: unknown): unknown {
  if (file === undefined || file === null) return {};
  return structuredCloneOf(file);
}

function structuredCloneOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(structuredCloneOf);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, structuredCloneOf(inner)]));
}

/** Leaves a tree that is not made of mappings alone: the schema will say so. */
function set(raw: unknown, path: readonly string[], value: unknown): void {
  let current = raw;
  for (const [index, key] of path.entries()) {
    if (!isMapping(current)) return;
    if (index === path.length - 1) current[key] = value;
    else {
      current[key] ??= {};
      current = current[key];
    }
  }
}

function isSet(raw: unknown, path: readonly string[]): boolean {
  let current = raw;
  for (const key of path) {
    if (!isMapping(current) || !Object.hasOwn(current, key)) return false;
    current = current[key];
  }
  return true;
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The origin of the field that a path is in or, for a section, of the file. */
function originOf(
  path: readonly (string | number)[],
  origins: ReadonlyMap<string, ConfigurationOrigin>,
): ConfigurationOrigin {
  for (let length = path.length; length > 0; length -= 1) {
    const origin = origins.get(fieldName(path.slice(0, length)));
    if (origin !== undefined) return origin;
  }
  const isField = CONFIGURATION_FIELDS.some((field) => field.name === fieldName(path));
  return isField ? { kind: 'default' } : { kind: 'file' };
}

function strayVariables(environment: Readonly<Record<string, string | undefined>>): string[] {
  const names = CONFIGURATION_FIELDS.map((field) => field.environment);
  const known = new Set(names);
  return Object.keys(environment)
    .filter((name) => name.startsWith('GIMBAL_') && !known.has(name) && !OTHER_VARIABLES.has(name))
    .filter((name) => !KUBERNETES_VARIABLE.test(name))
    .sort()
    .flatMap((name) => {
      // Others may have their own variables with our prefix: only what looks like a slip is worth a word.
      const near = nearestName(name, names);
      return near === undefined
        ? []
        : [`environment variable ${name} is none of Gimbal's and was not used, did you mean ${near}?`];
    });
}
