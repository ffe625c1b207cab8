import { join, relative, resolve } from 'node:path';
import {
  describeProblem,
  type FileProblem,
  Repository,
  type RepositoryReading,
  type VersionReading,
  versionDefaults,
} from '@gimbal/server';
import type { Command } from 'commander';
import { loadConfiguration } from '../configuration-file.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { Failure } from '../failure.ts';
import { addJsonFlags, type JsonFlags } from '../json-flags.ts';
import { noModels, requireModelsPath, shownPath } from '../models-path.ts';
import type { Terminal } from '../terminal.ts';
import type { Verb, VerbContext } from '../verb.ts';

interface Options extends JsonFlags {
  readonly config?: string;
}

export const check: Verb = {
  define(command: Command, run) {
    command
      .argument(
        '[path]',
        'a model repository, a model, or an .onnx file (default: models.path of the configuration)',
      )
      .option('--config <file>', 'the configuration to check and to take defaults from');
    addJsonFlags(command, 'a version').action((path: string | undefined, options: Options) =>
      run((context) => checkPath(path, options, context), options),
    );
  },
};

async function checkPath(
  path: string | undefined,
  options: Options,
  context: VerbContext,
): Promise<ExitCode> {
  const terminal = context.terminal(options);
  const { configuration, file, notes } = await loadConfiguration({
    cwd: context.cwd,
    environment: context.environment,
    file: options.config,
    flags: {},
  });
  const target = path === undefined ? configuration.models.path : resolve(context.cwd, path);
  const place = { path: target, cwd: context.cwd, verb: 'check' } as const;
  const shown = shownPath(target, context.cwd);
  if (file !== undefined) terminal.say(`${file} is right`);
  for (const note of notes) terminal.say(note);
  requireModelsPath(place);
  const reading = await terminal.during(`Checking ${shown}`, readAt(target, shown, configuration));
  const found = reading.versions.map((version) => located(version, { cwd: context.cwd, root: reading.root }));
  const ok = found.length > 0 && found.every((version) => version.ok);
  if (terminal.isJson)
    terminal.printJsonList(found, { path: shown, ok, versions: found, notes: reading.notes });
  else for (const version of found) printVersion(terminal, version);
  for (const note of reading.notes) terminal.say(`note: ${note}`);
  if (found.length === 0) throw noModels(place);
  return summarise(terminal, found);
}

async function readAt(
  target: string,
  shown: string,
  configuration: Parameters<typeof versionDefaults>[0],
): Promise<RepositoryReading> {
  try {
    return await new Repository(target, versionDefaults(configuration)).read();
  } catch (error) {
    throw new Failure(EXIT.invalid, error instanceof Error ? error.message : String(error), { where: shown });
  }
}

interface CheckedVersion {
  readonly model: string;
  readonly version: string;
  readonly ok: boolean;
  readonly task: string | undefined;
  readonly problems: readonly FileProblem[];
}

/** Files as paths from where the command was given, so that terminals and editors make links of them. */
function located(reading: VersionReading, { cwd, root }: { cwd: string; root: string }): CheckedVersion {
  const { model, version } = reading;
  if (reading.ok) return { model, version, ok: true, task: reading.spec.task, problems: [] };
  const problems = reading.problems.map((problem) => ({
    ...problem,
    file: relative(cwd, join(root, problem.file)),
  }));
  return { model, version, ok: false, task: undefined, problems };
}

function printVersion(terminal: Terminal, { model, version, ok, task, problems }: CheckedVersion): void {
  const { green, red, dim } = terminal.colours;
  const name = version === '' ? model : `${model}/${version}`;
  terminal.print(`${ok ? green('✓') : red('✗')} ${name}${ok ? ` ${dim(task ?? '')}` : ''}`);
  for (const problem of problems) terminal.print(`  ${describeProblem(problem)}`);
}

function summarise(terminal: Terminal, found: readonly CheckedVersion[]): ExitCode {
  const wrong = found.filter(({ ok }) => !ok);
  const problems = wrong.reduce((sum, version) => sum + version.problems.length, 0);
  const { bold, red, green } = terminal.humanColours;
  if (wrong.length === 0) {
    terminal.say(
      green(bold(found.length === 1 ? 'The version is right' : `All ${found.length} versions are right`)),
    );
    return EXIT.ok;
  }
  const count = `${problems} ${problems === 1 ? 'problem' : 'problems'}`;
  terminal.say(red(bold(`${wrong.length} of ${found.length} versions can't be served: ${count}`)));
  return EXIT.invalid;
}
