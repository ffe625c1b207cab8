import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

// The entry of the npm scripts, in a checkout of its own whose server only tells what happens to it.
const SERVER = `
  process.on('SIGTERM', () => { console.log('drained'); process.exit(7); });
  console.log('started', process.argv.slice(2).join(' '));
  if (process.argv.includes('--die')) process.kill(process.pid, 'SIGKILL');
  if (process.argv.includes('--end')) process.exit(3);
  setInterval(() => {}, 1000);
`;
let root: string;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'gimbal-run-'));
  for (const folder of ['tools', 'node_modules/node/bin', 'packages/cli/src']) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  copyFileSync(join(import.meta.dirname, 'run.mjs'), join(root, 'tools/run.mjs'));
  symlinkSync(process.execPath, join(root, 'node_modules/node/bin/node'));
  writeFileSync(join(root, 'package-lock.json'), '{}');
  writeFileSync(join(root, 'node_modules/.package-lock.json'), '{}');
  writeFileSync(join(root, 'packages/cli/src/main.ts'), SERVER);
});
afterAll(() => rmSync(root, { recursive: true }));

interface Started {
  readonly child: ChildProcess;
  readonly text: () => string;
  readonly exit: Promise<number | null>;
  readonly serving: Promise<void>;
}

function start(...args: string[]): Started {
  const child = spawn(process.execPath, [join(root, 'tools/run.mjs'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  const serving = new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes('started')) resolve();
    });
  });
  child.stderr.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  return {
    child,
    text: () => text,
    exit: new Promise((resolve) => child.once('close', (code) => resolve(code))),
    serving,
  };
}

describe('tools/run.mjs', () => {
  it('passes a signal on once, waits for the drain and gives its exit code', async () => {
    const { child, exit, serving, text } = start('start', '--port', '0');
    await serving;
    child.kill('SIGTERM');
    child.kill('SIGTERM');
    expect(await exit).toBe(7);
    expect(text()).toBe('started serve examples/models --port 0\ndrained\n');
  });

  it('ends the server when npm is ended, although the shell between them passes nothing on', async () => {
    const manifest = { scripts: { start: 'node tools/run.mjs start' } };
    writeFileSync(join(root, 'package.json'), JSON.stringify(manifest));
    const npm = spawn('npm', ['start', '--silent'], { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] });
    let text = '';
    await new Promise<void>((resolve) => {
      npm.stdout.on('data', (chunk: Buffer) => {
        if (text === '') npm.kill('SIGTERM');
        text += chunk.toString();
        if (text.includes('drained')) resolve();
      });
    });
    expect(text).toContain('drained');
  });

  it('gives the exit code of a step, also of one that was killed', async () => {
    expect(await start('start', '--end').exit).toBe(3);
    expect(await start('start', '--die').exit).toBe(128 + 9);
  });

  it('says what it can run when asked for something else', async () => {
    const { exit, text } = start('strat');
    expect(await exit).toBe(2);
    expect(text()).toContain('Cannot run "strat": expected one of start, test, check');
  });
});
