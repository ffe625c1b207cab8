import { existsSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import {
  CONFIGURATION_FIELDS,
  type Configuration,
  type OriginatedProblem,
  type ResolvedConfiguration,
  resolveConfiguration,
} from '@gimbal/core/config';
import { describeProblem, MAX_YAML_BYTES, readSmallText, YamlDocument } from '@gimbal/server';
import { EXIT } from './exit-code.ts';
import { Failure } from './failure.ts';

/** Read when nobody names another and it is there. */
const USUAL_FILE = 'gimbal.yaml';

export interface ConfigurationRequest {
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** `--config`. */
  readonly file: string | undefined;
  /** By field name (`http.port`), as the command line gave them. */
  readonly flags: Readonly<Record<string, { readonly name: string; readonly text: string } | undefined>>;
}

export interface LoadedConfiguration {
  /** `models.path` is absolute. */
  readonly configuration: Configuration;
  /** Path of the file that was read, relative to the working folder; undefined when there is none. */
  readonly file: string | undefined;
  readonly notes: readonly string[];
}

/** Flags, environment and file as one checked configuration. Fails with exit code 3 and everything that is wrong. */
export async function loadConfiguration(request: ConfigurationRequest): Promise<LoadedConfiguration> {
  const { cwd, environment, flags } = request;
  const path = findFile(request);
  const document = path === undefined ? undefined : await readDocument(path, cwd);
  const resolved = resolveConfiguration({ file: document?.value, environment, flags });
  if (!resolved.ok) throw invalid(resolved.problems, document);
  const { configuration } = resolved;
  const modelsPath = resolve(modelsBase(resolved, { cwd, path }), configuration.models.path);
  return {
    configuration: { ...configuration, models: { ...configuration.models, path: modelsPath } },
    file: document?.file,
    notes: resolved.notes,
  };
}

/** A path in a file is relative to that file; anywhere else, to where the command was given. */
function modelsBase(
  resolved: ResolvedConfiguration & { ok: true },
  { cwd, path }: { cwd: string; path: string | undefined },
): string {
  const origin = resolved.origins.get('models.path')?.kind ?? 'default';
  const inFile = origin === 'file' || origin === 'default';
  return path !== undefined && inFile ? dirname(path) : cwd;
}

function findFile({ cwd, environment, file }: ConfigurationRequest): string | undefined {
  const named = file ?? (environment.GIMBAL_CONFIG || undefined);
  if (named !== undefined) return resolve(cwd, named);
  const usual = resolve(cwd, USUAL_FILE);
  return existsSync(usual) ? usual : undefined;
}

async function readDocument(path: string, cwd: string): Promise<YamlDocument> {
  const shown = relative(cwd, path) || path;
  const read = await readSmallText(path, MAX_YAML_BYTES);
  if (read.kind === 'missing') {
    throw new Failure(EXIT.invalid, 'Cannot read the configuration: there is no such file', {
      where: shown,
      fix: 'gimbal init, or leave --config out',
    });
  }
  if (read.kind !== 'text') {
    const got = read.kind === 'unreadable' ? read.why : 'a larger one';
    throw new Failure(EXIT.invalid, "Cannot read the configuration: the file can't be read", {
      where: shown,
      expected: `a readable file of at most ${MAX_YAML_BYTES} bytes`,
      got,
    });
  }
  const document = new YamlDocument(shown, read.text);
  if (document.problems.length > 0) {
    throw new Failure(EXIT.invalid, 'Cannot read the configuration: the file is not YAML', {
      findings: document.problems.map(describeProblem),
    });
  }
  return document;
}

function invalid(problems: readonly OriginatedProblem[], document: YamlDocument | undefined): Failure {
  const findings = problems.map((problem) => describeOriginated(problem, document));
  const count = problems.length === 1 ? 'a field is wrong' : `${problems.length} fields are wrong`;
  // What is wrong in the command itself is usage, not a configuration that somebody wrote down.
  const isUsage = problems.every(({ origin }) => origin.kind === 'flag');
  return new Failure(isUsage ? EXIT.usage : EXIT.invalid, `Cannot use the configuration: ${count}`, {
    findings,
    fix: isUsage ? 'gimbal serve --help' : 'see docs/reference/configuration.md',
  });
}

function describeOriginated(problem: OriginatedProblem, document: YamlDocument | undefined): string {
  const { origin, expected, got, hint, path } = problem;
  if (origin.kind === 'file' && document !== undefined) return describeProblem(document.locate(problem));
  const field = path.join('.');
  const suffix = hint === undefined ? '' : `; ${hint}`;
  const where = origin.kind === 'flag' || origin.kind === 'environment' ? origin.name : 'default';
  return `${where}: ${field}: expected ${expected}, got ${got}${suffix}`;
}

/** The configuration that a server without file, environment and flags would have. */
export function defaultConfiguration(): Configuration {
  const resolved = resolveConfiguration({ file: undefined, environment: {}, flags: {} });
  if (!resolved.ok)
    throw new Failure(EXIT.failure, 'Cannot use the default configuration: it fails its own checks');
  return resolved.configuration;
}

/** Names of all flags, without dashes, by field name. */
export const FLAG_FIELDS = CONFIGURATION_FIELDS.filter((field) => field.flag !== undefined);
