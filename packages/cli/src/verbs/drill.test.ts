import { describe, expect, it } from 'vitest';
import { DRILLS } from '../drill/drills.ts';
import { gimbalInProcess } from '../testing/in-process.ts';

describe('gimbal drill', () => {
  it('--list shows each drill and when it passes', async () => {
    const { exitCode, stdout } = await gimbalInProcess(['drill', '--list']);
    expect(exitCode).toBe(0);
    for (const { name, criterion } of DRILLS) {
      expect(stdout).toContain(name);
      expect(stdout).toContain(criterion);
    }
  });

  it('--list --json is one document', async () => {
    const { stdout } = await gimbalInProcess(['drill', '--list', '--json']);
    const { drills } = JSON.parse(stdout) as { drills: { name: string }[] };
    expect(drills.map(({ name }) => name)).toEqual(DRILLS.map(({ name }) => name));
  });

  it.each([
    [[], 'none is named'],
    [['runner-kil'], 'did you mean "runner-kill"?'],
    [['runner-kill', '--url', 'http://127.0.0.1:1'], 'belong together'],
    [['runner-kill', '--model', 'no-such-folder'], "it is a model's folder"],
    [['poison', '--body', 'no-such-file.json'], 'Cannot read the request'],
    [
      [
        'restart-under-load',
        '--url',
        'http://127.0.0.1:1',
        '--admin-url',
        'http://127.0.0.1:1',
        '--model',
        'm',
      ],
      'it stops the server',
    ],
  ])('with %j is a usage error that says what is expected', async (args, expected) => {
    const { exitCode, stdout, stderr } = await gimbalInProcess(['drill', ...args]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(expected);
    expect(stdout).toBe('');
  });

  it('says so when there is no server to aim at', async () => {
    const aim = ['--url', 'http://127.0.0.1:1', '--admin-url', 'http://127.0.0.1:1', '--model', 'digits'];
    const { exitCode, stderr } = await gimbalInProcess(['drill', 'runner-kill', ...aim]);
    expect(exitCode).toBe(6);
    expect(stderr).toContain('Cannot reach the server');
  });
});
