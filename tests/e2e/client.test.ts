import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  AbortError,
  Client,
  DeadlineError,
  type GimbalError,
  NotFoundError,
  tensor,
  textsOf,
  ValidationError,
} from '@gimbal/client';
import { ERROR_CODES, errorRow } from '@gimbal/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FINAL_CODES, RETRYABLE_CODES } from '../../packages/client/src/error-document.ts';
import { eventually, GimbalUnderTest, ROOT } from '../harness/gimbal.ts';
import { ModelFolder } from '../harness/models.ts';

const EXAMPLES = ['efficientnet', 'minilm', 'faces', 'digits', 'add-sub'];
const GUIDE_URL = 'http://127.0.0.1:8000';

let models: ModelFolder;
let server: GimbalUnderTest;
let client: Client;

beforeAll(async () => {
  models = new ModelFolder(EXAMPLES.map((name) => `examples/${name}`));
  models.add('all-types');
  models.add('string-echo');
  server = await GimbalUnderTest.start(models.path);
  client = new Client({ baseUrl: server.http });
});

afterAll(async () => {
  await server?.stop();
  models?.remove();
});

const input = (name: string): Buffer => readFileSync(join(ROOT, 'examples', 'inputs', name));

async function failureOf(call: Promise<unknown>): Promise<GimbalError> {
  return (await call.then(
    () => expect.fail('the call succeeded'),
    (error: unknown) => error,
  )) as GimbalError;
}

describe('a call', () => {
  it.each([
    ['bytes', () => input('cat.jpg')],
    ['a file', () => new File([input('cat.jpg')], 'cat.jpg', { type: 'image/jpeg' })],
    ['a stream', () => new Blob([input('cat.jpg')]).stream()],
    ['base64', () => input('cat.jpg').toString('base64')],
  ])('with a picture as %s names what is on it', async (_how, picture) => {
    const answer = await client.model('efficientnet').infer(picture(), { parameters: { top_k: 2 } });
    expect(answer.predictions).toHaveLength(2);
    expect(['Egyptian cat', 'tabby', 'tiger cat']).toContain(answer.predictions?.[0]?.label);
    expect(answer).toMatchObject({ model: 'efficientnet', version: '1', degraded: false, rung: 0 });
    expect(answer.timings.inferMs).toBeGreaterThan(0);
  });

  it('with a face finds its box', async () => {
    const { predictions } = await client.model('faces').infer(input('face.jpg'));
    expect(predictions?.[0]?.bbox).toHaveLength(4);
  });

  it('with texts gives their numbers', async () => {
    const { embedding } = await client.model('minilm').infer('hello');
    expect(embedding).toHaveLength(384);
    const { results } = await client.model('minilm').inferMany(['one', 'two']);
    expect(results.map((result) => result.ok)).toEqual([true, true]);
  });

  it('with a row gives its classes, from the version asked for', async () => {
    const { data, requestId, attempts } = await client
      .model('digits')
      .infer(new Float32Array(64), { version: '1', requestId: 'my-id', criticality: 'critical' })
      .withResponse();
    expect(data.predictions?.[0]?.label).toMatch(/^\d$/);
    expect({ requestId, attempts }).toEqual({ requestId: 'my-id', attempts: 1 });
  });

  it('with a bad input among good ones fails that one', async () => {
    const { results } = await client.model('digits').inferMany([new Float32Array(64), [1, 2]]);
    expect(results[0]?.ok).toBe(true);
    expect(results[1]).toMatchObject({ ok: false, error: { code: 'INVALID_INPUT' } });
  });
});

describe('tensors', () => {
  it('of every datatype go to the model and come back bit by bit', async () => {
    const shape = [1, 2] as const;
    const inputs = {
      in_bool: tensor('BOOL', shape, [true, false]),
      in_uint8: tensor('UINT8', shape, [0, 255]),
      in_int8: tensor('INT8', shape, [-128, 127]),
      in_uint16: tensor('UINT16', shape, [0, 65535]),
      in_int16: tensor('INT16', shape, [-32768, 32767]),
      in_uint32: tensor('UINT32', shape, [0, 4294967295]),
      in_int32: tensor('INT32', shape, [-2147483648, 2147483647]),
      in_uint64: tensor('UINT64', shape, [0n, 2n ** 64n - 1n]),
      in_int64: tensor('INT64', shape, [-(2n ** 63n), 2n ** 53n + 1n]),
      in_fp16: tensor('FP16', shape, Uint16Array.of(0x0001, 0xfbff)),
      in_fp32: tensor('FP32', shape, [Math.fround(0.1), -0]),
      in_fp64: tensor('FP64', shape, [Number.MIN_VALUE, Number.MAX_VALUE]),
      in_string: tensor('BYTES', shape, ['', 'grüße 🐈']),
    };
    const { outputs } = await client.model('all-types').infer(inputs);
    expect(Object.keys(outputs)).toHaveLength(13);
    for (const [name, sent] of Object.entries(inputs)) {
      const came = outputs[name.replace('in_', 'out_')];
      expect(came?.datatype, name).toBe(sent.datatype);
      expect(came?.shape, name).toEqual(sent.shape);
      // Texts come as views of the body.
      if (came?.datatype === 'BYTES') expect(textsOf(came)).toEqual(['', 'grüße 🐈']);
      else expect(came?.data, name).toEqual(sent.data);
    }
  });

  it('come back one by one when only some are asked for', async () => {
    const one = tensor('INT32', [2, 16], new Int32Array(32).fill(5));
    const { outputs } = await client
      .model('add-sub')
      .infer({ INPUT0: one, INPUT1: one }, { outputs: ['OUTPUT1'], version: '1' });
    expect(Object.keys(outputs)).toEqual(['OUTPUT1']);
    expect(outputs.OUTPUT1?.data).toEqual(new Int32Array(32));
  });
});

describe('a failure', () => {
  it('names the nearest model', async () => {
    const error = await failureOf(client.model('digitz').infer([1]));
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({ code: 'MODEL_NOT_FOUND', status: 404, attempts: 1, retryable: false });
    expect(error.message).toContain('did you mean "digits"');
    expect(error.requestId).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('of an input says where, what was expected and how to mend it', async () => {
    const error = await failureOf(client.model('digits').infer([[1, 2, 3]]));
    expect(error).toBeInstanceOf(ValidationError);
    expect(error.fields[0]?.expected).toContain('64');
    expect(error.hint).toBeDefined();
    const v2 = await failureOf(client.model('add-sub').infer({ INPUT0: tensor('FP32', [1], [1]) }));
    expect(v2).toMatchObject({ name: 'ValidationError', code: 'INVALID_INPUT', status: 400 });
  });

  it('of the deadline comes from whoever sees it first', async () => {
    const error = await failureOf(client.model('efficientnet').infer(input('cat.jpg'), { deadlineMs: 1 }));
    expect(error).toBeInstanceOf(DeadlineError);
  });

  it('by an abort is told at once, and the server drops the work', async () => {
    const cancelled = () => server.metric('gimbal_requests_total', { outcome: 'cancelled' });
    const before = await cancelled();
    const abort = new AbortController();
    const { signal } = abort;
    const model = client.model('efficientnet');
    const calls = Array.from({ length: 12 }, () => model.infer(input('cat.jpg'), { signal }));
    // The first has been answered: the others wait in the server.
    await Promise.any(calls);
    abort.abort(new Error('enough'));
    const failed = (await Promise.allSettled(calls)).filter((call) => call.status === 'rejected');
    expect(failed.length).toBeGreaterThan(0);
    for (const { reason } of failed) {
      expect(reason).toBeInstanceOf(AbortError);
      expect(reason.cause).toEqual(new Error('enough'));
    }
    await eventually('the server has noticed', async () => (await cancelled()) > before);
  });

  it('of a runner costs no call: the client asks again', async () => {
    const patient = new Client({ baseUrl: server.http, retryBudget: 1, maxRetries: 5 });
    const model = patient.model('digits');
    const row = new Float32Array(64);
    const lane = async (turns: number): Promise<void> => {
      for (let turn = 0; turn < turns; turn += 1) await model.infer(row);
    };
    const lanes = Array.from({ length: 10 }, () => lane(20));
    const runner = (await server.runners()).find(({ model: name }) => name === 'digits');
    if (runner) process.kill(runner.pid, 'SIGKILL');
    await expect(Promise.all(lanes)).resolves.toHaveLength(10);
    expect(runner).toBeDefined();
  });
});

it('models and health are told', async () => {
  const list = await client.models.list();
  expect(list.map(({ name }) => name)).toEqual(expect.arrayContaining(EXAMPLES));
  const detail = await client.models.get('digits');
  expect(detail).toMatchObject({ task: 'tabular', defaultVersion: '1', batching: true });
  expect(detail.columns).toHaveLength(64);
  expect(detail.limits?.maxBodyBytes).toBeGreaterThan(0);
  expect(await client.health.live()).toMatchObject({ ok: true, status: 'pass' });
  expect((await client.health.ready()).checks['model:digits']).toMatchObject([{ status: 'pass' }]);
  expect((await client.health.started()).ok).toBe(true);
});

it('what may be tried again is what the error registry says', () => {
  const isRetryable = (code: string): boolean => RETRYABLE_CODES.includes(code);
  const known = ERROR_CODES.filter((code) => isRetryable(code) || FINAL_CODES.includes(code));
  expect(known, 'every code is in one of the lists').toEqual(ERROR_CODES);
  for (const code of ERROR_CODES) expect(isRetryable(code), code).toBe(errorRow(code).retry !== 'never');
});

describe('the guide', () => {
  let folder: string;
  const examples = examplesOf(readFileSync(join(ROOT, 'docs/guide/client.md'), 'utf8'));

  beforeAll(() => {
    // Inside the checkout, where the package is found.
    mkdirSync(join(ROOT, '.tmp'), { recursive: true });
    folder = mkdtempSync(join(ROOT, '.tmp', 'client-guide-'));
    const args = ['generate', 'client', '--from', server.http, '--out', join(folder, 'models.ts')];
    const made = run([join(ROOT, 'packages/cli/src/main.ts'), ...args]);
    expect(made.status, made.stderr).toBe(0);
    for (const { name, text } of examples) {
      writeFileSync(join(folder, `${name}.ts`), text.replaceAll(GUIDE_URL, server.http));
    }
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('has examples', () => {
    expect(examples.filter(({ runs }) => runs).length).toBeGreaterThanOrEqual(8);
  });

  it.each(examples.filter(({ runs }) => runs))('$name runs', ({ name }) => {
    const { status, stdout, stderr } = run([join(folder, `${name}.ts`)]);
    expect(status, stderr).toBe(0);
    expect(stdout + stderr).not.toBe('');
  });

  it('compiles, its examples with the generated client among them', () => {
    const tsconfig = { extends: '../../tsconfig.json', include: ['*.ts'], exclude: [] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig));
    const { status, stdout } = run([join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', folder]);
    expect(status, stdout).toBe(0);
  });

  it('the generated client refuses at compile time what the server would refuse', () => {
    const wrong = `import { tensor } from '@gimbal/client';
import { createClient } from './models.ts';
const client = createClient({ baseUrl: 'http://x' });
const good = tensor('INT32', [1, 16], new Int32Array(16));
await client.model('add-sub').infer({ INPUT0: good, INPUT1: good });
// @ts-expect-error: another shape
await client.model('add-sub').infer({ INPUT0: good, INPUT1: tensor('INT32', [1, 8], new Int32Array(8)) });
// @ts-expect-error: a picture is no text
await client.model('minilm').infer(new Blob());
// @ts-expect-error: a column that is not there
await client.model('digits').infer({ pixel_9_9: 1 });
`;
    writeFileSync(join(folder, 'wrong.ts'), wrong);
    const { status, stdout } = run([join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', folder]);
    expect(status, stdout).toBe(0);
  });
});

interface Example {
  readonly name: string;
  readonly text: string;
  readonly runs: boolean;
}

function examplesOf(page: string): Example[] {
  const found = [...page.matchAll(/^```ts( no-run)?\n([\s\S]*?)^```$/gm)];
  return found.map(([, marker, text = ''], index) => ({
    name: `example-${index + 1}`,
    text,
    runs: marker === undefined,
  }));
}

function run(args: readonly string[]) {
  return spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8', timeout: 100_000 });
}
