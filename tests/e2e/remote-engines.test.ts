import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually, GimbalUnderTest } from '../harness/gimbal.ts';
import { ModelFolder } from '../harness/models.ts';

/** Servers that stand for somebody else's, and one before them. */
const engines: GimbalUnderTest[] = [];
let models: ModelFolder;
let front: GimbalUnderTest;
let folder: string;

/** What the three models that run there may send to find out whether it is back. */
const TRIALS = 3;
const FAST_PROBES = 'probeInterval: 200ms, probeTimeout: 300ms';

beforeAll(async () => {
  models = new ModelFolder(['add-sub', 'string-echo', 'digits-mlp']);
  engines.push(
    ...(await Promise.all([GimbalUnderTest.start(models.path), GimbalUnderTest.start(models.path)])),
  );
  folder = mkdtempSync(join(tmpdir(), 'gimbal-remote-'));
  const rest = engines.map(({ http }) => JSON.stringify(http)).join(', ');
  const grpc = engines.map((engine) => JSON.stringify(`grpc://${grpcOf(engine)}`)).join(', ');
  declare('rest', `remote: { endpoints: [${rest}], model: add-sub, ${FAST_PROBES} }`);
  declare('json', `remote: { endpoints: [${rest}], model: add-sub, encoding: json, ${FAST_PROBES} }`);
  declare('grpc', `remote: { endpoints: [${grpc}], model: add-sub, ${FAST_PROBES} }`);
  declare('echo', `remote: { endpoints: [${rest}], model: string-echo, ${FAST_PROBES} }`);
  declare('digits', `task: tabular\nremote: { endpoints: [${rest}], model: digits-mlp, ${FAST_PROBES} }`);
  front = await GimbalUnderTest.start(folder);
});

afterAll(async () => {
  await front?.stop();
  await Promise.all(engines.map((engine) => engine.stop()));
  models?.remove();
  rmSync(folder, { recursive: true, force: true });
});

function declare(name: string, yaml: string): void {
  mkdirSync(join(folder, name, '1'), { recursive: true });
  writeFileSync(join(folder, name, '1', 'version.yaml'), `${yaml}\n`);
}

function grpcOf(engine: GimbalUnderTest): string {
  const ready = engine.events.find(({ event }) => event === 'ready');
  return String(ready?.grpc);
}

async function infer(
  base: string,
  model: string,
  body: unknown,
): Promise<{ status: number; document: unknown }> {
  const response = await fetch(`${base}/v2/models/${model}/infer`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  return { status: response.status, document: await response.json() };
}

/** A request that the model of this name takes, made from its own description. */
async function aRequest(base: string, model: string): Promise<{ inputs: unknown[] }> {
  const metadata = (await (await fetch(`${base}/v2/models/${model}`)).json()) as {
    inputs: { name: string; datatype: string; shape: number[] }[];
  };
  return {
    inputs: metadata.inputs.map(({ name, datatype, shape }, at) => {
      const given = shape.map((length) => (length < 0 ? 2 : length));
      const count = given.reduce((product, length) => product * length, 1);
      const data = Array.from({ length: count }, (_, index) =>
        datatype === 'BYTES' ? `text ${index} ü` : (index % 7) + at,
      );
      return { name, datatype, shape: given, data };
    }),
  };
}

/** Runs of the model at one engine. */
async function runsAt(engine: GimbalUnderTest): Promise<number> {
  const response = await fetch(`${engine.http}/v2/models/add-sub/stats`);
  const { model_stats: statistics } = (await response.json()) as {
    model_stats: { inference_count: number }[];
  };
  return statistics[0]?.inference_count ?? 0;
}

const outputsOf = (document: unknown) => (document as { outputs: unknown }).outputs;

describe('A model that runs at two other servers', () => {
  test.each([
    ['rest', 'add-sub'],
    ['json', 'add-sub'],
    ['grpc', 'add-sub'],
    ['echo', 'string-echo'],
    ['digits', 'digits-mlp'],
  ])('(%s) gives the answers that they give', async (name, behind) => {
    const [engine] = engines;
    const request = await aRequest(engine?.http ?? '', behind);
    const direct = await infer(engine?.http ?? '', behind, request);
    const through = await infer(front.http, name, request);
    expect(direct.status).toBe(200);
    expect(through.status).toBe(200);
    expect(outputsOf(through.document)).toEqual(outputsOf(direct.document));
  });

  test('has their description', async () => {
    const ask = async (base: string, model: string) => (await fetch(`${base}/v2/models/${model}`)).json();
    const theirs = (await ask(engines[0]?.http ?? '', 'digits-mlp')) as Record<string, unknown>;
    expect(await ask(front.http, 'digits')).toMatchObject({ inputs: theirs.inputs, outputs: theirs.outputs });
  });

  test('answers the native API', async () => {
    const input = Array.from({ length: 64 }, (_, index) => index % 16);
    const response = await fetch(`${front.http}/v1/models/digits/predict`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ input }),
    });
    expect(response.status).toBe(200);
    expect(Object.keys((await response.json()) as object)).toContain('outputs');
  });

  test('loses no request when one of them is killed, nor when that one freezes', async () => {
    const request = await aRequest(front.http, 'rest');
    const statuses: number[] = [];
    const [one, two] = engines as [GimbalUnderTest, GimbalUnderTest];
    one.signal('SIGSTOP');
    for (let index = 0; index < 60; index += 1)
      statuses.push((await infer(front.http, 'rest', request)).status);
    one.signal('SIGCONT');
    const before = await runsAt(one);
    await eventually('it takes requests again', async () => {
      statuses.push((await infer(front.http, 'rest', request)).status);
      return (await runsAt(one)) > before + TRIALS;
    });
    two.signal('SIGKILL');
    for (let index = 0; index < 60; index += 1)
      statuses.push((await infer(front.http, 'rest', request)).status);
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
  });

  test('is unavailable, and says so, when all of them are gone', async () => {
    const request = await aRequest(front.http, 'rest');
    for (const engine of engines) engine.signal('SIGKILL');
    await eventually('it is not ready', async () => {
      const { status, document } = await infer(front.http, 'rest', request);
      return status === 503 && (document as { code: string }).code === 'MODEL_UNAVAILABLE';
    });
    expect((await fetch(`${front.http}/livez`)).status).toBe(200);
  });
});
