import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, relative, resolve } from 'node:path';
import { Repository, versionDefaults } from '@gimbal/server';
import type { Command } from 'commander';
import { clientSource, type DescribedModel, type DescribedTensor } from '../client-source.ts';
import { loadConfiguration } from '../configuration-file.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { Failure } from '../failure.ts';
import { durationMs } from '../flag-value.ts';
import { modelsOf, ServerClient, serverUrl } from '../server-client.ts';
import type { Terminal } from '../terminal.ts';
import type { RunVerb, Verb, VerbContext } from '../verb.ts';

const USUAL_TIMEOUT_MS = 30_000;

interface Options {
  readonly json: boolean;
  readonly from?: string;
  readonly out?: string;
  readonly timeout: number;
  readonly dryRun: boolean;
}

export const generate: Verb = {
  define(command: Command, run) {
    defineClient(command, run);
  },
};

function defineClient(command: Command, run: RunVerb): void {
  command
    .command('client')
    .summary('TypeScript types of the served models, for @gimbal/client')
    .description('Writes a module with the types of the served models and a typed client of them')
    .exitOverride()
    .option(
      '--from <url|folder>',
      'a running server, or a model repository (default: GIMBAL_URL, else http://127.0.0.1:8000)',
    )
    .option('--out <file>', 'the file to write (default: standard output)')
    .option('--timeout <duration>', 'the longest that the server may take', durationMs, USUAL_TIMEOUT_MS)
    .option('--dry-run', 'only say what would be written', false)
    .option('--json', 'print one JSON document', false)
    .action((options: Options) => run((context) => generateClient(options, context), options));
}

async function generateClient(options: Options, context: VerbContext): Promise<ExitCode> {
  const terminal = context.terminal(options);
  const folder = folderOf(options.from, context.cwd);
  const found =
    folder === undefined
      ? await modelsOfServer(options, context)
      : await modelsOfFolder(folder, context, terminal);
  const where = folder === undefined ? serverUrl(options.from, context.environment) : options.from;
  for (const note of found.notes) terminal.say(`note: ${note}`);
  if (found.models.length === 0) {
    throw new Failure(EXIT.notFound, 'Cannot generate a client: there is no model whose types are known', {
      where,
      expected: 'at least one model that can be served',
      got: 'none',
      fix: 'gimbal check',
    });
  }
  const source = clientSource(found.models);
  const names = found.models.map(({ name }) => name).sort();
  if (options.out === undefined) {
    if (options.json) terminal.printJson({ models: names, source });
    else terminal.print(source.trimEnd());
    return EXIT.ok;
  }
  const changed = await writeSource(resolve(context.cwd, options.out), source, options.dryRun);
  const shown = relative(context.cwd, resolve(context.cwd, options.out));
  if (options.json) terminal.printJson({ models: names, file: shown, changed, dry_run: options.dryRun });
  else terminal.say(described(shown, { models: names.length, changed, dryRun: options.dryRun }));
  return EXIT.ok;
}

interface FoundModels {
  readonly models: readonly DescribedModel[];
  /** Models that are left out, and why. */
  readonly notes: readonly string[];
}

/** A folder or file that is there; anything else is the address of a server. */
function folderOf(from: string | undefined, cwd: string): string | undefined {
  if (from === undefined || /^https?:\/\//.test(from)) return undefined;
  const path = resolve(cwd, from);
  if (existsSync(path)) return path;
  // "localhost:8000" is an address, "./models" and "models" are folders that are not there.
  if (/:\d+\/?$/.test(from)) return undefined;
  throw new Failure(EXIT.notFound, 'Cannot read the models: there is no such folder', {
    where: '--from',
    expected: 'a folder of models, or the URL of a server',
    got: JSON.stringify(from),
  });
}

/** The members of `GET /v1/models/{model}` that types are made of; a newer server may have more. */
interface ModelDetail {
  readonly task?: string | null;
  readonly inputs?: readonly DescribedTensor[];
  readonly outputs?: readonly DescribedTensor[];
  readonly columns?: readonly string[] | null;
}

async function modelsOfServer({ from, timeout }: Options, context: VerbContext): Promise<FoundModels> {
  const client = new ServerClient(serverUrl(from, context.environment), timeout);
  const { body } = await client.request({ method: 'GET', path: '/v1/models' });
  const models: DescribedModel[] = [];
  const notes: string[] = [];
  for (const { name } of modelsOf(body)) {
    const answer = await client.request({ method: 'GET', path: `/v1/models/${encodeURIComponent(name)}` });
    const { task, inputs = [], outputs = [], columns } = (answer.body ?? {}) as ModelDetail;
    if (typeof task === 'string') models.push({ name, task, inputs, outputs, columns: columns ?? [] });
    else notes.push(`${name} is left out: nothing of it is loaded`);
  }
  return { models, notes };
}

/** The last version of each model that can be served, as the server would choose it. */
async function modelsOfFolder(
  folder: string,
  { cwd, environment }: VerbContext,
  terminal: Terminal,
): Promise<FoundModels> {
  const { configuration } = await loadConfiguration({ cwd, environment, file: undefined, flags: {} });
  const shown = relative(cwd, folder) || '.';
  const reading = await terminal.during(
    `Reading ${shown}`,
    new Repository(folder, versionDefaults(configuration)).read(),
  );
  const models = new Map<string, DescribedModel>();
  const notes: string[] = [];
  for (const version of reading.versions) {
    const name = version.model;
    if (!version.ok) {
      notes.push(`${name} version ${version.version} is left out: ${version.error.message}`);
      continue;
    }
    const { task, signature, columns } = version.spec;
    const { inputs, outputs } = signature;
    models.set(name, { name, task, inputs, outputs, columns: columns ?? [] });
  }
  return { models: [...models.values()], notes };
}

/** Whether the file is another one now. An unchanged file keeps its date: builds that watch it stay asleep. */
async function writeSource(path: string, source: string, dryRun: boolean): Promise<boolean> {
  if (existsSync(path)) {
    if (statSync(path).isDirectory()) {
      throw new Failure(EXIT.usage, 'Cannot write the client: the path is a folder', {
        where: '--out',
        expected: 'a file such as src/models.ts',
        got: JSON.stringify(path),
      });
    }
    if (readFileSync(path, 'utf8') === source) return false;
  }
  if (dryRun) return true;
  await mkdir(dirname(path), { recursive: true });
  // A compiler that watches never sees half a file.
  const draft = `${path}.${process.pid}.draft`;
  await writeFile(draft, source);
  await rename(draft, path);
  return true;
}

function described(
  file: string,
  {
    models,
    changed,
    dryRun,
  }: { readonly models: number; readonly changed: boolean; readonly dryRun: boolean },
): string {
  const what = `${file} with the types of ${models} ${models === 1 ? 'model' : 'models'}`;
  if (!changed) return `${file} is up to date`;
  return dryRun ? `Would write ${what}` : `Wrote ${what}`;
}
