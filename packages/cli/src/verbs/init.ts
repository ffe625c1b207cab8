import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { Failure } from '../failure.ts';
import { starterFiles } from '../starter-folder.ts';
import type { Verb, VerbContext } from '../verb.ts';

interface Options {
  readonly json: boolean;
  readonly yes: boolean;
  readonly dryRun: boolean;
}

export const init: Verb = {
  define(command: Command, run) {
    command
      .argument('[folder]', 'the folder to make', '.')
      .option('--yes', 'write into a folder that is not empty, over files of the same names', false)
      .option('--dry-run', 'only say what would be written', false)
      .option('--json', 'print one JSON document', false)
      .action((folder: string, options: Options) =>
        run((context) => initFolder(folder, options, context), options),
      );
  },
};

async function initFolder(folder: string, options: Options, context: VerbContext): Promise<ExitCode> {
  const terminal = context.terminal(options);
  const root = resolve(context.cwd, folder);
  const present = await entriesOf(root);
  const files = starterFiles();
  const paths = files.map(({ path }) => join(folder, path));
  if (present.length > 0 && !options.yes) {
    throw new Failure(EXIT.conflict, 'Cannot make a starter folder: the folder is not empty', {
      where: relative(context.cwd, root) || '.',
      expected: 'a new or empty folder',
      got: `${present.length} entries (${present.slice(0, 3).join(', ')}${present.length > 3 ? ', …' : ''})`,
      fix: 'gimbal init demo, or add --yes to write beside them',
    });
  }
  for (const { path, content } of options.dryRun ? [] : files) {
    const target = join(root, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, content);
  }
  if (options.json) terminal.printJson({ folder, files: paths, written: !options.dryRun });
  else for (const path of paths) terminal.print(path);
  if (options.dryRun) terminal.say('Nothing was written (--dry-run)');
  else {
    const enter = root === context.cwd ? '' : `cd ${folder} && `;
    terminal.say(`\nNext: ${terminal.humanColours.cyan(`${enter}gimbal serve`)}`);
  }
  return EXIT.ok;
}

async function entriesOf(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT') return [];
    throw new Failure(EXIT.failure, "Cannot make a starter folder: the folder can't be read", {
      where: folder,
      expected: 'a folder that may be written to',
      got: String(code),
    });
  }
}
