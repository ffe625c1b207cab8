import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WorkingFolder } from '../testing/command-line.ts';
import { gimbalInProcess } from '../testing/in-process.ts';

let folder: WorkingFolder;

beforeEach(() => {
  folder = new WorkingFolder();
});

afterEach(() => folder.remove());

it('init makes a folder that passes check with its own configuration', async () => {
  const { exitCode, stdout } = await gimbalInProcess(['init', 'demo'], { cwd: folder.path });
  expect(exitCode).toBe(0);
  expect(stdout.trim().split('\n')).toEqual([
    'demo/gimbal.yaml',
    'demo/README.md',
    'demo/models/add-sub/1/version.yaml',
    'demo/models/add-sub/1/model.onnx',
  ]);
  const check = await gimbalInProcess(['check'], { cwd: join(folder.path, 'demo') });
  expect(check).toMatchObject({ exitCode: 0, stdout: '✓ add-sub/1 tensor\n' });
});

it('init refuses a folder that is not empty, until told', async () => {
  folder.write('demo/mine.txt', 'x');
  const refused = await gimbalInProcess(['init', 'demo'], { cwd: folder.path });
  expect(refused.exitCode).toBe(5);
  expect(refused.stderr).toMatch(/not empty/);
  expect(readdirSync(join(folder.path, 'demo'))).toEqual(['mine.txt']);
  expect((await gimbalInProcess(['init', 'demo', '--yes'], { cwd: folder.path })).exitCode).toBe(0);
  expect(existsSync(join(folder.path, 'demo', 'mine.txt'))).toBe(true);
});

it('init --dry-run writes nothing and says what it would', async () => {
  const { exitCode, stdout } = await gimbalInProcess(['init', 'demo', '--dry-run', '--json'], {
    cwd: folder.path,
  });
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ folder: 'demo', written: false });
  expect(existsSync(join(folder.path, 'demo'))).toBe(false);
});
