import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const PACKAGE = join(import.meta.dirname, '..');
const TSC = join(PACKAGE, '..', '..', 'node_modules', 'typescript', 'bin', 'tsc');
const LIMIT_MS = 100_000;

function compile(...args: string[]): string {
  const { stdout, status } = spawnSync(process.execPath, [TSC, ...args], { cwd: PACKAGE, encoding: 'utf8' });
  return status === 0 ? '' : stdout;
}

it(
  'calls are checked by the compiler: what fits the model compiles, what does not is refused',
  () => {
    expect(compile('-p', 'src/testing')).toBe('');
  },
  LIMIT_MS,
);

it(
  'the sources need nothing of Node: they compile against what browsers have',
  () => {
    expect(compile('-p', '.')).toBe('');
  },
  LIMIT_MS,
);
