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

const DETAIL = {
  ...DIGITS,
  state: 'ready',
  default_version: '1',
  digest: 'sha256:abc',
  batching: true,
  versions: [
    {
      version: '1',
      state: 'ready',
      reason: null,
      variants: [
        { name: 'fp32', state: 'ready', runners: 2 },
        { name: 'int8', state: 'ready', runners: 1 },
      ],
    },
    {
      version: '2',
      state: 'loading',
      reason: null,
      variants: [{ name: 'fp32', state: 'loading', runners: 0 }],
    },
  ],
  inputs: [{ name: 'pixels', datatype: 'FP32', shape: [-1, 64, -1] }],
  outputs: [
    { name: 'label', datatype: 'INT64', shape: [-1] },
    { name: 'probabilities', datatype: 'FP32', shape: [-1, 10] },
  ],
  labels: { count: 10, first: ['zero', 'one', 'two', 'three', 'four', 'five'] },
  columns: null,
  limits: {
    max_body_bytes: 64 * 1024 * 1024,
    max_inputs: 32,
    max_rows: 16,
    deadline_ms: 10_000,
    max_delay_ms: 5,
  },
  profile: {
    fixed_ms: 0.02,
    per_row_ms: 0.004123,
    best_rows: 16,
    points: [
      { rows: 1, median_ms: 0.024 },
      { rows: 4, median_ms: 0.036 },
      { rows: 16, median_ms: 0.096 },
    ],
  },
  derivations: [{ field: 'task', value: 'tabular', because: 'one input of rows with 64 numbers' }],
  examples: [
    {
      title: 'A row of numbers',
      content_type: 'application/json',
      curl: "curl http://h/v1/models/digits/predict -d '[]'",
    },
  ],
};

let server: FakeServer;
let changed: FakeServer;

beforeEach(async () => {
  server = new FakeServer({
    'GET /v1/models': { body: { models: [DIGITS, { name: 'idle', versions: [] }] } },
    'GET /v1/models/digits': { body: DETAIL },
    'GET /v1/models/idle': {
      body: {
        name: 'idle',
        task: null,
        state: 'unavailable',
        default_version: null,
        versions: [],
        failures: [{ version: '1', reason: 'no labels' }],
        inputs: [],
        limits: null,
        profile: null,
      },
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
  changed = new FakeServer({
    'GET /v1/models': {
      body: {
        models: [
          {
            name: 'digits',
            versions: [{ version: '1', state: 'ready', variants: [{ name: 'fp32' }] }],
            failures: [{ version: '1', reason: 'opset 999' }],
          },
        ],
      },
    },
  });
  await Promise.all([server.start(), changed.start()]);
});

afterEach(() => Promise.all([server.stop(), changed.stop()]));

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
  expect(JSON.parse((await models('show', 'digits', '--json')).stdout)).toEqual(DETAIL);
});

it('show is a page: what goes in and out, what serves it, limits, cost, and how to try it', async () => {
  const { exitCode, stdout } = await models('show', 'digits');
  expect(exitCode).toBe(0);
  expect(stdout.split('\n')).toEqual([
    'digits  tabular · version 1 · ready',
    'Inputs',
    '  pixels  FP32 [batch, 64, any]',
    'Outputs',
    '  label          INT64 [batch]',
    '  probabilities  FP32 [batch, 10]',
    'Versions and variants, best first',
    '  1 fp32  ready    2 runners',
    '  1 int8  ready    1 runner',
    '  2 fp32  loading  0 runners',
    'Can not be loaded',
    '  3  Cannot load digits version 3: no labels',
    'Limits',
    '  batching  up to 16 rows in a run, waiting at most 5 ms for companions',
    '  deadline  10 s    unless a request says less',
    '  body      64 MiB  after decompression',
    '  inputs    32 in a request',
    'Measured at load',
    '  0.02 ms a run + 0.00412 ms a row, cheapest at 16 rows',
    '     1 row    0.024 ms  ████',
    '    4 rows    0.036 ms  ██████',
    '   16 rows    0.096 ms  ████████████████',
    'Known of it',
    '  labels  10: zero, one, two, three, four, …',
    '  digest  sha256:abc',
    'Derived, not declared',
    '  task  tabular  (one input of rows with 64 numbers)',
    'Try',
    '  # A row of numbers',
    "  curl http://h/v1/models/digits/predict -d '[]'",
    '',
  ]);
});

it('show bears a server that says less, and a model of which nothing is loaded', async () => {
  const { exitCode, stdout } = await models('show', 'idle');
  expect(exitCode).toBe(0);
  expect(stdout).toBe('idle  unavailable\nCan not be loaded\n  1  no labels\n');
});

it('an unknown model is exit 4 with the nearest name', async () => {
  const unknown = await models('show', 'digts');
  expect(unknown.exitCode).toBe(4);
  expect(unknown.stderr).toContain('did you mean "digits"?');
});

it('list --jsonl has one line for each model', async () => {
  const { stdout } = await models('list', '--jsonl');
  expect(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).name),
  ).toEqual(['digits', 'idle']);
});

it('a version whose change failed is one row, its reason below the table', async () => {
  const { stdout, stderr } = await gimbalInProcess(['models', 'list', '--url', changed.url]);
  expect(stdout).toBe('MODEL   VERSION  STATE  TASK  VARIANTS\ndigits  1        ready        fp32\n');
  expect(stderr).toContain('digits 1: opset 999');
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
