#!/usr/bin/env node
// Entry of the command line, in plain JavaScript so that any Node can read it. The sources need Node 22.18, which runs
// TypeScript as it is; an older Node hands over to the one that the repository brings as a dev dependency.
import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const NEEDED = [22, 18];
const HERE = dirname(realpathSync(fileURLToPath(import.meta.url)));
const RELAYED = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** The sources in a clone; what was built from them in the published package. */
const MAIN = [join(HERE, '..', 'src', 'main.ts'), join(HERE, '..', 'dist', 'main.js')].find(existsSync);

if (isNewEnough()) await import(pathToFileURL(MAIN).href);
else handOver();

function isNewEnough() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  return major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1]);
}

function handOver() {
  const file = process.platform === 'win32' ? 'node.exe' : 'node';
  const newer = join(HERE, '..', '..', '..', 'node_modules', 'node', 'bin', file);
  if (!existsSync(newer)) {
    process.stderr.write(
      `Cannot run gimbal: this Node is too old, expected ${NEEDED.join('.')} or newer, got ${process.versions.node}; ` +
        'install a newer Node, or run "npm install" in the clone, which brings one\n',
    );
    process.exitCode = 2;
    return;
  }
  const child = spawn(newer, [MAIN, ...process.argv.slice(2)], {
    stdio: 'inherit',
    // Whoever kills this process alone must not leave a server behind that nobody sees.
    env: { ...process.env, GIMBAL_END_WITH_PARENT: String(process.pid) },
  });
  const relay = (signal) => {
    // Ctrl+C reaches every process of a terminal by itself; passed on, it would count as a second one, which hurries.
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  };
  for (const signal of RELAYED) process.on(signal, relay);
  child.once('error', (error) => {
    process.stderr.write(`Cannot run gimbal: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.once('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (constants.signals[signal] ?? 0);
    for (const name of RELAYED) process.off(name, relay);
  });
}
