// Entry of every npm script. Runs on any Node from 20 on: installs what is missing, then hands over to the Node of the
// dev dependency, which runs the TypeScript sources as they are.
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const NODE = join(ROOT, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
const bin = (name) => join(ROOT, 'node_modules', name);
const VITEST = [bin('vitest/vitest.mjs'), 'run'];

/** name → list of [label, node arguments]; extra arguments go to the last step. */
const SCRIPTS = {
  start: [['serve', ['packages/cli/src/main.ts', 'serve', 'examples/models']]],
  test: [
    ['check', ['tools/run.mjs', 'check']],
    ['all tests', VITEST],
  ],
  check: [
    ['format and lint', [bin('@biomejs/biome/bin/biome'), 'check', '--error-on-warnings', '.']],
    ['types: core alone', [bin('typescript/bin/tsc'), '-p', 'packages/core']],
    ['types: all', [bin('typescript/bin/tsc'), '-p', '.']],
    ['layers', ['tools/check-layers/main.ts']],
    ['generated files', ['tools/generate/main.ts', '--check']],
    ['style', ['tools/check-style/main.ts']],
    ['unit tests', [...VITEST, '--project', 'unit']],
  ],
  bench: [['bench', ['bench/main.ts']]],
  format: [['format', [bin('@biomejs/biome/bin/biome'), 'check', '--write', '.']]],
  generate: [['generate', ['tools/generate/main.ts']]],
};

function main() {
  const [name, ...extra] = process.argv.slice(2);
  const steps = SCRIPTS[name];
  if (!steps) {
    process.stderr.write(
      `Cannot run ${JSON.stringify(name)}: expected one of ${Object.keys(SCRIPTS).join(', ')}\n`,
    );
    return 2;
  }
  const installed = install();
  if (installed !== 0) return installed;
  for (const [index, [label, args]] of steps.entries()) {
    if (steps.length > 1) process.stderr.write(`\n▸ ${label}\n`);
    const last = index === steps.length - 1;
    const code = run(NODE, last ? [...args, ...extra] : args);
    if (code !== 0) {
      if (steps.length > 1) process.stderr.write(`✗ ${label}: exit code ${code}\n`);
      return code;
    }
  }
  return 0;
}

/** `npm ci` when the tree is missing or older than the lockfile. */
function install() {
  const marker = join(ROOT, 'node_modules', '.package-lock.json');
  const lockfile = join(ROOT, 'package-lock.json');
  if (existsSync(NODE) && existsSync(marker) && statSync(marker).mtimeMs >= statSync(lockfile).mtimeMs)
    return 0;
  process.stderr.write('Installing dependencies (once, about a minute; needs the npm registry)…\n');
  const code = run(
    'npm',
    ['ci', '--no-audit', '--no-fund', '--loglevel=error'],
    process.platform === 'win32',
  );
  if (code !== 0) process.stderr.write('Cannot install dependencies: "npm ci" failed, see above\n');
  return code;
}

function run(command, args, shell = false) {
  const path = `${join(ROOT, 'node_modules', '.bin')}${process.platform === 'win32' ? ';' : ':'}${process.env.PATH ?? ''}`;
  const child = spawnSync(command, args, {
    cwd: ROOT,
    stdio: 'inherit',
    shell,
    env: { ...process.env, PATH: path },
  });
  if (child.error) {
    process.stderr.write(`Cannot start ${command}: ${child.error.message}\n`);
    return 1;
  }
  return child.status ?? 1;
}

process.exitCode = main();
