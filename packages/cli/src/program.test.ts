import { expect, it } from 'vitest';
import { gimbalInProcess } from './testing/in-process.ts';

it('help lists every verb and the exit codes on stdout', async () => {
  const { exitCode, stdout, stderr } = await gimbalInProcess(['--help']);
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
    const { exitCode, stdout, stderr } = await gimbalInProcess(args);
    expect({ args, exitCode, stdout }).toEqual({ args, exitCode: 2, stdout: '' });
    expect(stderr).toContain(near);
  }
});

it.each(['bash', 'zsh', 'fish'])('completion for %s knows every verb and flag', async (shell) => {
  const { exitCode, stdout } = await gimbalInProcess(['completion', shell]);
  expect(exitCode).toBe(0);
  for (const word of ['serve', 'doctor', 'unload', 'top-k', 'admin-port']) expect(stdout).toContain(word);
});

it('the help of serve has a flag for each field of the configuration', async () => {
  const { stdout } = await gimbalInProcess(['serve', '--help']);
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

it.each([
  [
    ['serve', '--prt', '3', '--json'],
    "Cannot run gimbal serve: unknown option '--prt'",
    /--port\? see gimbal serve --help/,
  ],
  [
    ['infer', '--json'],
    "Cannot run gimbal infer: missing required argument 'model'",
    /^gimbal infer --help$/,
  ],
  [['infer', 'm', '--top-k', '0', '--jsonl'], /integer above 0, got "0"/, /^gimbal infer --help$/],
  [['srve', '--json'], "Cannot run gimbal: unknown command 'srve'", /serve\? see gimbal --help/],
] as const)('%j is told as JSON too: one line with what to do', async (args, message, fix) => {
  const { exitCode, stdout, stderr } = await gimbalInProcess(args);
  expect(exitCode).toBe(2);
  expect(stdout.trimEnd()).not.toContain('\n');
  expect(JSON.parse(stdout)).toEqual({
    error: {
      message: typeof message === 'string' ? message : expect.stringMatching(message),
      exit_code: 2,
      fix: expect.stringMatching(fix),
    },
  });
  const isLog = args[0] === 'serve';
  expect(stderr).toMatch(isLog ? /^\{"level":"error".+\}\n$/ : /^✗ Cannot run .+\n {2}fix {7}.+\n$/);
});
