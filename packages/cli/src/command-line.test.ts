import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EXAMPLES, FIXTURES, gimbal, ROOT, WorkingFolder } from './testing/command-line.ts';
import { FakeServer } from './testing/fake-server.ts';

// The verbs as users start them: a process of its own each. Details of verbs are tested beside them.

let folder: WorkingFolder;

beforeEach(() => {
  folder = new WorkingFolder();
});

afterEach(() => folder.remove());

it('a new folder is made, checked and inspected', async () => {
  expect((await gimbal(['init', 'demo'], { cwd: folder.path })).exitCode).toBe(0);
  const demo = join(folder.path, 'demo');
  expect(await gimbal(['check'], { cwd: demo })).toMatchObject({
    exitCode: 0,
    stdout: '✓ add-sub/1 tensor\n',
  });
  const { exitCode, stdout } = await gimbal(['inspect', 'models/add-sub/1/model.onnx', '--json'], {
    cwd: demo,
  });
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout).inputs).toHaveLength(2);
});

it('broken models end with exit code 3, whatever else is right', async () => {
  const { exitCode, stdout } = await gimbal(['check', join(FIXTURES, 'samples', 'broken-models')]);
  expect(exitCode).toBe(3);
  expect(stdout).toContain('truncated.onnx: expected at least 20997 bytes');
});

it('the machine is examined', async () => {
  const { exitCode, stdout, stderr } = await gimbal(['doctor'], {
    environment: { GIMBAL_HTTP_PORT: '0', GIMBAL_ADMIN_PORT: '0' },
  });
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^ok {4}onnxruntime /m);
  expect(stderr).toContain('Gimbal runs here');
});

it('a picture from standard input is asked about', async () => {
  const server = new FakeServer({
    'POST /v1/models/m/predict': { body: { predictions: [{ label: 'cat', confidence: 1 }] } },
  });
  await server.start();
  const input = readFileSync(join(EXAMPLES, 'inputs', 'cat.jpg'));
  const { exitCode, stdout } = await gimbal(['infer', 'm', '-', '--url', server.url], { input });
  await server.stop();
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `cat  100.0 %  ${'█'.repeat(24)}\n` });
  expect(server.last.body.equals(input)).toBe(true);
});

it('the entry for any Node runs the sources on a new enough one', async () => {
  const main = join(ROOT, 'packages/cli/bin/gimbal.mjs');
  const { exitCode, stdout } = await gimbal(['--version'], { main });
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

it('the completion for bash is a script that bash accepts and uses', async () => {
  if (!existsSync('/bin/bash')) return;
  const { stdout } = await gimbal(['completion', 'bash']);
  const script = folder.write(
    'completion.sh',
    `${stdout}\nCOMP_WORDS=(gimbal mo)\nCOMP_CWORD=1\n_gimbal\necho "$COMPREPLY"\n`,
  );
  expect(spawnSync('/bin/bash', [script], { encoding: 'utf8' })).toMatchObject({
    status: 0,
    stdout: 'models\n',
    stderr: '',
  });
});
