// Entry of every npm script. Runs on any Node from 20 on: installs what is missing, then hands over to the Node of the
// dev dependency, which runs the TypeScript sources as they are.
import { spawn } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const NODE = join(ROOT, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
const bin = (name) => join(ROOT, 'node_modules', name);
const VITEST = [bin('vitest/vitest.mjs'), 'run'];

const RELAYED = ['SIGINT', 'SIGTERM', 'SIGHUP'];
/** Signals that come closer together than this are one wish. */
const SAME_SIGNAL_MS = 300;

const PARENT = process.ppid;
const PARENT_POLL_MS = 200;

/** What can be said of the sources without running them. */
const STATIC_CHECKS = [
  ['format and lint', [bin('@biomejs/biome/bin/biome'), 'check', '--error-on-warnings', '.']],
  ['types: core alone', [bin('typescript/bin/tsc'), '-p', 'packages/core']],
  ['types: all', [bin('typescript/bin/tsc'), '-p', '.']],
  ['layers', ['tools/check-layers/main.ts']],
  ['generated files', ['tools/generate/main.ts', '--check']],
  ['style', ['tools/check-style/main.ts']],
];

/** name → list of [label, node arguments]; extra arguments go to the last step. */
const SCRIPTS = {
  start: [['serve', ['packages/cli/src/main.ts', 'serve', 'examples/models']]],
  test: [...STATIC_CHECKS, ['all tests', VITEST]],
  check: [...STATIC_CHECKS, ['unit tests', [...VITEST, '--project', 'unit']]],
  bench: [['bench', ['bench/main.ts']]],
  sim: [['sim', ['simulation/main.ts']]],
  format: [['format', [bin('@biomejs/biome/bin/biome'), 'check', '--write', '.']]],
  generate: [['generate', ['tools/generate/main.ts']]],
};

async function main() {
  const [name, ...extra] = process.argv.slice(2);
  const steps = SCRIPTS[name];
  if (!steps) {
    process.stderr.write(
      `Cannot run ${JSON.stringify(name)}: expected one of ${Object.keys(SCRIPTS).join(', ')}\n`,
    );
    return 2;
  }
  const installed = await install();
  if (installed !== 0) return installed;
  for (const [index, [label, args]] of steps.entries()) {
    if (steps.length > 1) process.stderr.write(`\n▸ ${label}\n`);
    const last = index === steps.length - 1;
    const code = await run(NODE, last ? [...args, ...extra] : args);
    if (code !== 0) {
      if (steps.length > 1) process.stderr.write(`✗ ${label}: exit code ${code}\n`);
      return code;
    }
  }
  return 0;
}

/** `npm ci` when the tree is missing or older than the lockfile. */
async function install() {
  const marker = join(ROOT, 'node_modules', '.package-lock.json');
  const lockfile = join(ROOT, 'package-lock.json');
  if (existsSync(NODE) && existsSync(marker) && statSync(marker).mtimeMs >= statSync(lockfile).mtimeMs)
    return 0;
  process.stderr.write('Installing dependencies (once, about a minute; needs the npm registry)…\n');
  const code = await run(
    'npm',
    ['ci', '--no-audit', '--no-fund', '--loglevel=error'],
    process.platform === 'win32',
  );
  if (code !== 0) process.stderr.write('Cannot install dependencies: "npm ci" failed, see above\n');
  return code;
}

/**
 * Runs a step to its end and gives its exit code. Signals are passed on and waited for: a stopped `npm start` lets the
 * server drain, and leaves no process behind.
 */
function run(command, args, shell = false) {
  const path = `${join(ROOT, 'node_modules', '.bin')}${process.platform === 'win32' ? ';' : ':'}${process.env.PATH ?? ''}`;
  return new Promise((resolve) => {
    // A server whose starter was killed alone drains and ends: see "endWithParent" in the serve verb.
    const env = { ...process.env, PATH: path, GIMBAL_END_WITH_PARENT: String(process.pid) };
    const child = spawn(command, args, { cwd: ROOT, stdio: 'inherit', shell, env });
    let relayedAt = 0;
    const relay = (signal) => {
      // A terminal sends Ctrl-C to the child itself, and npm passes on what it gets: a second signal hurries the
      // server's drain, so one must not arrive as two.
      if (signal === 'SIGINT' && process.stdin.isTTY) return;
      if (Date.now() - relayedAt < SAME_SIGNAL_MS) return;
      relayedAt = Date.now();
      child.kill(signal);
    };
    for (const signal of RELAYED) process.on(signal, relay);
    const watch = setInterval(() => parentGone() && relay('SIGTERM'), PARENT_POLL_MS);
    const settle = (code) => {
      clearInterval(watch);
      for (const signal of RELAYED) process.off(signal, relay);
      resolve(code);
    };
    child.once('error', (error) => {
      process.stderr.write(`Cannot start ${command}: ${error.message}\n`);
      settle(1);
    });
    child.once('exit', (code, signal) => settle(code ?? 128 + (constants.signals[signal] ?? 0)));
  });
}

/**
 * npm passes SIGTERM to the shell between us, which dies of it without a word: that our parent is gone is then the only
 * sign. Only npm's scripts are watched, since anybody else may well mean to leave us running.
 */
function parentGone() {
  return process.env.npm_lifecycle_event !== undefined && process.ppid !== PARENT;
}

process.exitCode = await main();
