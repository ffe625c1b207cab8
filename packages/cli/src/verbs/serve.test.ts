import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FIXTURES, gimbal, ROOT, WorkingFolder } from '../testing/command-line.ts';

const ANY_PORTS = ['--port', '0', '--grpc-port', '0', '--admin-port', '0'];

let folder: WorkingFolder;

beforeEach(() => {
  folder = new WorkingFolder();
});

afterEach(() => folder.remove());

type Line = Readonly<Record<string, unknown>>;

/** Fails for a line that is no JSON object. */
function linesOf(text: string): Line[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
}

it('without a terminal, a server writes its log and its events as JSON lines and nothing else', async () => {
  const models = join(FIXTURES, 'models', 'add-sub');
  const args = [join(ROOT, 'packages/cli/src/main.ts'), 'serve', models, ...ANY_PORTS];
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, [...args, '--lame-duck-ms', '0'], {
    cwd: folder.path,
    env: { PATH, HOME },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  createInterface(child.stderr).on('line', (line) => {
    stderr += `${line}\n`;
    if (line.includes('"event":"ready"')) child.kill('SIGTERM');
  });
  const exitCode = await new Promise((resolve) => child.once('close', resolve));
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '' });
  const lines = linesOf(stderr);
  const ready = lines.find(({ event }) => event === 'ready');
  expect(ready).toMatchObject({ level: 'info', message: 'Gimbal is ready', pid: child.pid });
  const events = lines.flatMap(({ event }) => (event === undefined ? [] : [event]));
  expect(events).toEqual(['ready', 'draining', 'stopped']);
  for (const line of lines)
    expect(line).toMatchObject({ level: expect.any(String), message: expect.any(String) });
});

it('a path with nothing at it is exit 3, with the name that was meant, as one line of the log', async () => {
  folder.write('models/a/1/README', '');
  const { exitCode, stdout, stderr } = await gimbal(['serve', 'modles', '--json'], { cwd: folder.path });
  expect(exitCode).toBe(3);
  const expected = {
    where: 'modles',
    expected: expect.stringContaining('.onnx'),
    got: 'no such file or folder',
    fix: 'gimbal serve models',
  };
  expect(linesOf(stderr)).toEqual([expect.objectContaining({ level: 'error', exit_code: 3, ...expected })]);
  expect(linesOf(stdout)).toEqual([{ error: expect.objectContaining({ exit_code: 3, ...expected }) }]);
});

it('a folder that init made names its folder of models, and where there is none, init', async () => {
  expect((await gimbal(['init', 'demo'], { cwd: folder.path })).exitCode).toBe(0);
  const root = await gimbal(['serve', 'demo', ...ANY_PORTS], { cwd: folder.path });
  expect(root.exitCode).toBe(3);
  expect(linesOf(root.stderr).at(-1)).toMatchObject({
    level: 'error',
    message: 'Cannot find a model',
    where: 'demo',
    fix: 'gimbal serve demo/models',
  });
});

it('models of which none can be loaded are exit 3, with the verb that tells all that is wrong', async () => {
  const models = join(FIXTURES, 'samples', 'broken-models', 'truncated.onnx');
  const { exitCode, stderr } = await gimbal(['serve', models, ...ANY_PORTS], { cwd: folder.path });
  expect(exitCode).toBe(3);
  expect(linesOf(stderr).at(-1)).toMatchObject({
    level: 'error',
    message: expect.stringContaining('expected at least 20997 bytes'),
    fix: `gimbal check ${models}`,
  });
});

it('a flag with a wrong value is usage, a variable or a file a wrong configuration', async () => {
  const flag = await gimbal(['serve', '--port', 'abc', '--json'], { cwd: folder.path });
  expect(flag.exitCode).toBe(2);
  expect(linesOf(flag.stdout)).toEqual([
    {
      error: {
        message: 'Cannot use the configuration: a field is wrong',
        exit_code: 2,
        findings: ['--port: http.port: expected an integer from 0 to 65535, got "abc"'],
        fix: 'gimbal serve --help',
      },
    },
  ]);
  const variable = await gimbal(['serve', '--port', 'abc'], {
    cwd: folder.path,
    environment: { GIMBAL_ADMIN_PORT: 'x' },
  });
  expect(variable.exitCode).toBe(3);
});
