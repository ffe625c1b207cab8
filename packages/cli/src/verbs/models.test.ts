import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeServer } from '../testing/fake-server.ts';
import { gimbalInProcess } from '../testing/in-process.ts';

const DIGITS = {
  name: 'digits',
  task: 'tabular',
  failures: [{ version: '3', reason: 'Cannot load digits version 3: no labels' }],
  versions: [
    { version: '1', state: 'ready', variants: [{ name: 'fp32' }] },
    { version: '2', state: 'loading', variants: [{ name: 'fp32' }, { name: 'int8' }] },
  ],
};

let server: FakeServer;

beforeEach(async () => {
  server = new FakeServer({
    'GET /v1/models': { body: { models: [DIGITS, { name: 'idle', versions: [] }] } },
    'GET /v1/models/digits': {
      body: { ...DIGITS, signature: { inputs: [{ name: 'pixels', shape: [-1, 64] }] } },
    },
    'GET /v1/models/digts': {
      status: 404,
      body: { detail: 'Cannot find the model "digts"', code: 'MODEL_NOT_FOUND' },
    },
    'POST /v2/repository/models/digits/load': { body: undefined },
    'POST /v2/repository/models/digits/unload': { body: undefined },
    'POST /v2/repository/models/broken/load': {
      status: 503,
      body: { error: 'Cannot load broken', code: 'MODEL_UNAVAILABLE' },
    },
  });
  await server.start();
});

afterEach(() => server.stop());

const models = (...args: readonly string[]) => gimbalInProcess(['models', ...args, '--url', server.url]);

it('list is a table of versions with states', async () => {
  const { exitCode, stdout, stderr } = await models('list');
  expect(exitCode).toBe(0);
  expect(stderr).toContain('digits 3: Cannot load digits version 3: no labels');
  expect(stdout).toBe(
    [
      'MODEL   VERSION  STATE        TASK     VARIANTS',
      'digits  1        ready        tabular  fp32',
      'digits  2        loading      tabular  fp32 > int8',
      'digits  3        unavailable  tabular',
      'idle    -        unloaded',
      '',
    ].join('\n'),
  );
});

it('list and show with --json are the server’s documents', async () => {
  expect(JSON.parse((await models('ls', '--json')).stdout)).toEqual({
    models: [DIGITS, { name: 'idle', versions: [] }],
  });
  expect(JSON.parse((await models('show', 'digits', '--json')).stdout)).toMatchObject(DIGITS);
});

it('show names everything, an unknown model is exit 4 with the nearest name', async () => {
  const shown = await models('show', 'digits');
  expect(shown.stdout).toContain('state: loading');
  expect(shown.stdout).toContain('shape: -1, 64');
  const unknown = await models('show', 'digts');
  expect(unknown.exitCode).toBe(4);
  expect(unknown.stderr).toContain('did you mean "digits"?');
});

it('load asks nobody, and tells why a model can not be loaded', async () => {
  expect(await models('load', 'digits', '--json')).toMatchObject({
    exitCode: 0,
    stdout: '{"model":"digits","load":true}\n',
  });
  expect(server.last).toMatchObject({ method: 'POST', path: '/v2/repository/models/digits/load' });
  const broken = await models('load', 'broken');
  expect(broken.exitCode).toBe(1);
  expect(broken.stderr).toContain('Cannot load broken');
});

it('unload needs --yes where nobody can be asked', async () => {
  const refused = await models('unload', 'digits');
  expect(refused.exitCode).toBe(2);
  expect(refused.stderr).toContain('--yes');
  expect(server.seen).toEqual([]);
  const done = await models('unload', 'digits', '--yes');
  expect(done.exitCode).toBe(0);
  expect(server.last.path).toBe('/v2/repository/models/digits/unload');
});

it('--dry-run changes nothing but still knows the model', async () => {
  expect((await models('unload', 'digits', '--dry-run')).exitCode).toBe(0);
  expect((await models('unload', 'digts', '--dry-run')).exitCode).toBe(4);
  expect(server.seen.map(({ method }) => method)).not.toContain('POST');
});

it('without a verb the help is shown, as usage', async () => {
  const { exitCode, stderr } = await gimbalInProcess(['models']);
  expect(exitCode).toBe(2);
  expect(stderr).toContain('unload');
});
