// Writes the files that are made from sources; with --check, only says which are out of date.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  configurationJsonSchema,
  configurationMarkdown,
  modelFileJsonSchema,
  versionFileJsonSchema,
} from '@gimbal/core/config';
import { readLaw } from '../check-layers/layer-law.ts';
import { type Finding, report } from '../repository/finding.ts';
import { ROOT } from '../repository/source-files.ts';
import { checkLinks } from './check-links.ts';
import { checkTree } from './check-tree.ts';
import { errorsPage } from './errors-page.ts';
import { metricsPage } from './metrics-page.ts';

const NOTICE = '<!-- Made by `npm run generate`. Edit the source, not this file. -->\n';

interface GeneratedFile {
  readonly path: string;
  readonly text: string;
}

function generatedFiles(): GeneratedFile[] {
  const pages = [
    { path: 'docs/reference/errors.md', text: errorsPage() },
    { path: 'docs/reference/metrics.md', text: metricsPage() },
    { path: 'docs/reference/configuration.md', text: configurationMarkdown() },
  ].map(({ path, text }) => ({ path, text: `${NOTICE}${text.trimEnd()}\n` }));
  const schemas = [
    { path: 'docs/reference/gimbal.schema.json', schema: configurationJsonSchema() },
    { path: 'docs/reference/version.schema.json', schema: versionFileJsonSchema() },
    { path: 'docs/reference/model.schema.json', schema: modelFileJsonSchema() },
  ].map(({ path, schema }) => ({ path, text: formattedJson(path, schema) }));
  return [...pages, ...schemas];
}

/** As the formatter of the house would write it, or the two would undo each other's work. */
function formattedJson(path: string, value: unknown): string {
  const biome = join(ROOT, 'node_modules/@biomejs/biome/bin/biome');
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [biome, 'format', `--stdin-file-path=${path}`],
    { cwd: ROOT, input: JSON.stringify(value, null, 2), encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`Cannot format ${path}: ${stderr}`);
  return stdout;
}

function staleFiles(files: readonly GeneratedFile[]): Finding[] {
  return files
    .filter(({ path, text }) => readText(path) !== text)
    .map(({ path }) => ({
      path,
      line: 0,
      message: 'is out of date: run "npm run generate" and commit the result',
    }));
}

function writeFiles(files: readonly GeneratedFile[]): void {
  for (const { path, text } of files) {
    if (readText(path) === text) continue;
    mkdirSync(dirname(join(ROOT, path)), { recursive: true });
    writeFileSync(join(ROOT, path), text);
    console.error(`wrote ${path}`);
  }
}

/** Pages that people write, checked against what they speak of. */
function checkPages(): Finding[] {
  const { layers } = readLaw(readText('layers.json'));
  const pages = [
    ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
    ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => join('docs', name)),
  ];
  return [
    ...checkTree({ root: ROOT, page: readText('ARCHITECTURE.md'), layers }),
    ...pages.flatMap((path) => checkLinks(ROOT, { path, text: readText(path) })),
  ];
}

function readText(path: string): string {
  const full = join(ROOT, path);
  return existsSync(full) ? readFileSync(full, 'utf8') : '';
}

const files = generatedFiles();
const checking = process.argv.includes('--check');
if (!checking) writeFiles(files);
process.exitCode = report('generate', [...(checking ? staleFiles(files) : []), ...checkPages()]);
