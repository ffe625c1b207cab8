import { join } from 'node:path';
import { expect, it } from 'vitest';
import { gimbal, ROOT } from './testing/command-line.ts';

it('help lists every verb and the exit codes on stdout', async () => {
  const { exitCode, stdout, stderr } = await gimbal(['--help']);
  expect(exitCode).toBe(0);
  for (const verb of ['serve', 'infer', 'models', 'inspect', 'check', 'doctor', 'init', 'completion']) {
    expect(stdout).toMatch(new RegExp(`^  ${verb} +\\S`, 'm'));
  }
  expect(stdout).toContain('3 configuration or models wrong');
  expect(stderr).toBe('');
});

it('a misspelt verb or flag is usage, with the nearest name, and nothing on stdout', async () => {
  for (const [args, near] of [
    [['srve'], 'serve'],
    [['serve', '--prt', '1'], '--port'],
    [['check', '--jsn'], '--json'],
    [['models', 'lst'], 'list'],
    [['completion', 'tcsh'], 'bash, zsh, fish'],
  ] as const) {
    const { exitCode, stdout, stderr } = await gimbal(args);
    expect({ args, exitCode, stdout }).toEqual({ args, exitCode: 2, stdout: '' });
    expect(stderr).toContain(near);
  }
});

it('the entry for any Node runs the sources on a new enough one', async () => {
  const main = join(ROOT, 'packages/cli/bin/gimbal.mjs');
  const { exitCode, stdout } = await gimbal(['--version'], { main });
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

it.each(['bash', 'zsh', 'fish'])('completion for %s knows every verb and flag', async (shell) => {
  const { exitCode, stdout } = await gimbal(['completion', shell]);
  expect(exitCode).toBe(0);
  for (const word of ['serve', 'doctor', 'unload', 'top-k', 'admin-port']) expect(stdout).toContain(word);
});

it('the help of serve has a flag for each field of the configuration', async () => {
  const { stdout } = await gimbal(['serve', '--help']);
  for (const flag of [
    '--host',
    '--port',
    '--admin-port',
    '--limits-max-body-bytes',
    '--log-level',
    '--drills',
  ]) {
    expect(stdout).toContain(flag);
  }
});
