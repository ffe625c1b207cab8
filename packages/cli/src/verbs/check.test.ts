import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EXAMPLES, FIXTURES, WorkingFolder } from '../testing/command-line.ts';
import { gimbalInProcess } from '../testing/in-process.ts';

let folder: WorkingFolder;

beforeEach(() => {
  folder = new WorkingFolder();
});

afterEach(() => folder.remove());

it('the examples are right', async () => {
  const { exitCode, stdout } = await gimbalInProcess(['check', join(EXAMPLES, 'models')]);
  expect(exitCode).toBe(0);
  expect(stdout.trim().split('\n')).toHaveLength(5);
});

it('every broken sample is told with its file, and the exit code is 3', async () => {
  const { exitCode, stdout, stderr } = await gimbalInProcess(['check', 'samples/broken-models'], {
    cwd: FIXTURES,
  });
  expect(exitCode).toBe(3);
  for (const name of [
    'bfloat16',
    'empty',
    'external-data-escape',
    'external-data-missing',
    'not-a-model',
    'opset-999',
    'truncated',
  ]) {
    expect(stdout).toContain(`samples/broken-models/${name}.onnx: expected `);
  }
  expect(stderr).toContain('7 of 8 versions');
});

it('all errors of declarations have file, line and column', async () => {
  cpSync(join(FIXTURES, 'models', 'add-sub'), join(folder.path, 'models', 'add-sub'), { recursive: true });
  folder.write('models/add-sub/1/version.yaml', 'task: tensr\nbatching:\n  maxsize: 4\ndeadline: 5\n');
  const { exitCode, stdout } = await gimbalInProcess(['check', '--json'], { cwd: folder.path });
  expect(exitCode).toBe(3);
  const { ok, versions } = JSON.parse(stdout.split('\n')[0] ?? '');
  expect(ok).toBe(false);
  const places = versions[0].problems.map(
    (problem: { file: string; line: number; column: number; field: string }) => [
      `${problem.file}:${problem.line}:${problem.column}`,
      problem.field,
    ],
  );
  expect(places).toEqual([
    ['models/add-sub/1/version.yaml:1:7', 'task'],
    ['models/add-sub/1/version.yaml:3:3', 'batching.maxsize'],
    ['models/add-sub/1/version.yaml:4:11', 'deadline'],
  ]);
});

it('a wrong gimbal.yaml, variable or file name is exit 3 with its place', async () => {
  folder.write('gimbal.yaml', 'http:\n  port: eighty\n  hots: x\n');
  const wrong = await gimbalInProcess(['check', EXAMPLES], { cwd: folder.path });
  expect(wrong.exitCode).toBe(3);
  expect(wrong.stderr).toMatch(
    /gimbal\.yaml:2:9: http\.port: expected an integer from 0 to 65535, got "eighty"/,
  );
  expect(wrong.stderr).toMatch(/gimbal\.yaml:3:3: http\.hots: expected one of host, port/);
  folder.write('gimbal.yaml', 'http: [\n');
  expect((await gimbalInProcess(['check', EXAMPLES], { cwd: folder.path })).stderr).toMatch(
    /gimbal\.yaml:\d+:\d+: expected YAML/,
  );
  folder.write('gimbal.yaml', '');
  const variable = await gimbalInProcess(['check', EXAMPLES], {
    cwd: folder.path,
    environment: { GIMBAL_HTTP_PORT: '99999' },
  });
  expect(variable.stderr).toContain('GIMBAL_HTTP_PORT: http.port: expected an integer');
  expect((await gimbalInProcess(['check', '--config', 'none.yaml'], { cwd: folder.path })).exitCode).toBe(3);
});

it('a folder without models, and one that is not there, are exit 3', async () => {
  expect((await gimbalInProcess(['check', '.'], { cwd: folder.path })).exitCode).toBe(3);
  const missing = await gimbalInProcess(['check', 'nowhere'], { cwd: folder.path });
  expect(missing.exitCode).toBe(3);
  expect(missing.stderr).toMatch(/where +nowhere/);
});

it('models.path of a file is relative to that file', async () => {
  cpSync(join(FIXTURES, 'models', 'add-sub'), join(folder.path, 'deploy', 'here', 'add-sub'), {
    recursive: true,
  });
  folder.write('deploy/gimbal.yaml', 'models: { path: here }\n');
  const { exitCode, stdout } = await gimbalInProcess(['check', '--config', 'deploy/gimbal.yaml'], {
    cwd: folder.path,
  });
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '✓ add-sub/1 tensor\n' });
});

it('the folder that init made names its folder of models; a misspelt path the one that was meant', async () => {
  await gimbalInProcess(['init', 'demo'], { cwd: folder.path });
  const root = await gimbalInProcess(['check', 'demo', '--json'], { cwd: folder.path });
  expect(root.exitCode).toBe(3);
  const [found, failed] = root.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(found).toMatchObject({ ok: false, versions: [] });
  expect(failed).toMatchObject({ error: { exit_code: 3, where: 'demo', fix: 'gimbal check demo/models' } });
  const near = await gimbalInProcess(['check', 'dmeo'], { cwd: folder.path });
  expect(near.exitCode).toBe(3);
  expect(near.stderr).toMatch(/fix +gimbal check demo\n/);
});

it('--jsonl has one line for each version', async () => {
  const { stdout } = await gimbalInProcess(['check', 'samples/broken-models', '--jsonl'], { cwd: FIXTURES });
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines).toHaveLength(8);
  expect(lines.filter(({ ok }) => !ok)).toHaveLength(7);
});
