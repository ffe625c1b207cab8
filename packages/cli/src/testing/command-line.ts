import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const MAIN = join(import.meta.dirname, '..', 'main.ts');
const LIMIT_MS = 60_000;

export const ROOT = join(import.meta.dirname, '../../../..');
export const FIXTURES = join(ROOT, 'tests', 'fixtures');
export const EXAMPLES = join(ROOT, 'examples');

export interface CommandResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly cwd?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly input?: string | Uint8Array;
  /** Another program than the sources' entry. */
  readonly main?: string;
}

/** Runs the command line as users do: a process of its own, no terminal. */
export function gimbal(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, [options.main ?? MAIN, ...args], {
    cwd: options.cwd ?? ROOT,
    env: { PATH, HOME, ...options.environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const limit = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => {
    output.stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output.stderr += chunk;
  });
  child.stdin.on('error', () => {});
  child.stdin.end(options.input ?? '');
  return new Promise((resolve) => {
    child.once('close', (exitCode) => {
      clearTimeout(limit);
      resolve({ exitCode, ...output });
    });
  });
}

/** A working folder of a test's own. */
export class WorkingFolder {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), 'gimbal-cli-')));

  write(file: string, content: string | Uint8Array): string {
    const path = join(this.path, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
