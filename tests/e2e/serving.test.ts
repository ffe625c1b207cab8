import { cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, FIXTURES, GimbalUnderTest, ROOT } from '../harness/gimbal.ts';
import { SteadyLoad, TestClient } from '../harness/load.ts';
import { ModelFolder } from '../harness/models.ts';

interface Answer {
  readonly predictions: { label: string; confidence: number; bbox: number[] }[];
  readonly embedding: number[];
  readonly outputs: Record<string, number[][]>;
  readonly results: { error?: { code: string }; outputs?: Record<string, number[][]> }[];
  readonly code: string;
  readonly model: string;
  readonly version: string;
  readonly request_id: string;
}

let models: ModelFolder;
let server: GimbalUnderTest;
let client: TestClient;

beforeAll(async () => {
  models = new ModelFolder([
    'examples/efficientnet',
    'examples/minilm',
    'examples/faces',
    'examples/digits',
    'examples/add-sub',
  ]);
  models.add('poison-gather');
  server = await GimbalUnderTest.start(models.path, { env: { GIMBAL_MODELS_SETTLE_MS: '200' } });
  client = new TestClient(server.http);
});

afterAll(async () => {
  client?.close();
  await server?.stop();
  models?.remove();
});

async function ask(
  path: string,
  body: string | Uint8Array,
  type: string,
): Promise<{ status: number; answer: Answer }> {
  const seen = await client.post(path, body, { 'content-type': type });
  return { status: seen.status, answer: JSON.parse(seen.body) as Answer };
}

const input = (name: string): Buffer => readFileSync(join(ROOT, 'examples', 'inputs', name));

describe('the first commands of the README', () => {
  it('name the cat on a photo', async () => {
    const { status, answer } = await ask('/v1/models/efficientnet/predict', input('cat.jpg'), 'image/jpeg');
    expect(status).toBe(200);
    expect(['Egyptian cat', 'tabby', 'tiger cat']).toContain(answer.predictions[0]?.label);
    expect(answer.predictions).toHaveLength(5);
  });

  it('find the face on a photo', async () => {
    const { status, answer } = await ask('/v1/models/faces/predict', input('face.jpg'), 'image/jpeg');
    expect(status).toBe(200);
    expect(answer.predictions).toHaveLength(1);
    const golden = [181.76, 58.06, 269.68, 177.97];
    for (const [index, edge] of golden.entries()) {
      expect(Math.abs((answer.predictions[0]?.bbox[index] ?? 0) - edge)).toBeLessThan(8);
    }
  });

  it('give a sentence its 384 numbers, of length 1', async () => {
    const { status, answer } = await ask('/v1/models/minilm/predict', input('sentence.txt'), 'text/plain');
    expect(status).toBe(200);
    expect(answer.embedding).toHaveLength(384);
    expect(Math.hypot(...answer.embedding)).toBeCloseTo(1, 4);
  });
});

describe('neighbours', () => {
  it('of a bad item in the same request get their answers', async () => {
    const row = Array.from({ length: 64 }, (_, index) => index % 17);
    const body = JSON.stringify({ inputs: [row, [1, 2, 3], row, 'text', row] });
    const { status, answer } = await ask('/v1/models/digits/predict', body, 'application/json');
    expect(status).toBe(200);
    expect(answer.results.map((result) => result.error?.code ?? 'ok')).toEqual([
      'ok',
      'INVALID_INPUT',
      'ok',
      'INVALID_INPUT',
      'ok',
    ]);
  });

  it('of an input that the model fails on, in the same batch, get their answers', async () => {
    const one = (index: number) => {
      const body = JSON.stringify({
        inputs: [{ name: 'INDEX', shape: [1, 1], datatype: 'INT64', data: [index] }],
      });
      return client.post('/v2/models/poison-gather/infer', body);
    };
    const shape = JSON.parse(await (await fetch(`${server.http}/v2/models/poison-gather`)).text()) as {
      inputs: { shape: number[] }[];
    };
    expect(shape.inputs).toHaveLength(1);
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, turn) => one(turn === 17 ? 99 : turn % 10)),
    );
    const statuses = answers.map((answer) => answer.status);
    expect(statuses[17]).toBeGreaterThanOrEqual(400);
    expect(statuses[17]).toBeLessThanOrEqual(500);
    expect(statuses.filter((status) => status === 200)).toHaveLength(39);
    expect(answers[17]?.body, 'no path of the server leaks').not.toContain(models.path);
    expect((await server.runners()).every((runner) => runner.restarts === 0)).toBe(true);
  });
});

describe('models on disk', () => {
  const row = JSON.stringify({ input: Array.from({ length: 64 }, (_, index) => index % 17) });

  it('a new version takes over without a failed request, and going back does too', async () => {
    const load = new SteadyLoad(4, () => client.post('/v1/models/digits/predict', row));
    cpSync(join(FIXTURES, 'models', 'digits-mlp', '2'), join(models.path, 'digits', '2'), {
      recursive: true,
    });
    const served = async (): Promise<string> =>
      (await ask('/v1/models/digits/predict', row, 'application/json')).answer.version;
    await eventually('version 2 answers', async () => (await served()) === '2');
    expect((await ask('/v1/models/digits/versions/1/predict', row, 'application/json')).answer.version).toBe(
      '1',
    );
    rmSync(join(models.path, 'digits', '2'), { recursive: true });
    await eventually('version 1 answers again', async () => (await served()) === '1');
    await load.stop();
    expect(load.failures).toEqual([]);
  });

  it('a broken version beside a good one leaves the good one serving', async () => {
    cpSync(
      join(FIXTURES, 'samples', 'broken-models', 'truncated.onnx'),
      join(models.path, 'add-sub', '2', 'model.onnx'),
      { recursive: true },
    );
    await eventually('the broken version is told', async () => {
      const index = (await (
        await fetch(`${server.http}/v2/repository/index`, { method: 'POST' })
      ).json()) as { name: string; version?: string; state?: string }[];
      return index.some(
        (one) => one.name === 'add-sub' && one.version === '2' && one.state === 'UNAVAILABLE',
      );
    });
    const body = JSON.stringify({ input: { INPUT0: Array(16).fill(2), INPUT1: Array(16).fill(1) } });
    const { status, answer } = await ask('/v1/models/add-sub/predict', body, 'application/json');
    expect([status, answer.version, answer.outputs.OUTPUT0]).toEqual([200, '1', [Array(16).fill(3)]]);
  });
});

describe('a client that leaves', () => {
  it('costs no run when its request has not started', async () => {
    const before = await server.metric('gimbal_batch_size_sum', { model: 'efficientnet' });
    const gone = Array.from({ length: 12 }, () => {
      const abort = new AbortController();
      const sent = fetch(`${server.http}/v1/models/efficientnet/predict`, {
        method: 'POST',
        body: new Uint8Array(input('cat.jpg')),
        headers: { 'content-type': 'image/jpeg' },
        signal: abort.signal,
      }).catch(() => undefined);
      setTimeout(() => abort.abort(), 5);
      return sent;
    });
    await Promise.all(gone);
    await eventually(
      'nothing is in flight',
      async () => (await server.metric('gimbal_inflight', { model: 'efficientnet' })) === 0,
    );
    const after = await server.metric('gimbal_batch_size_sum', { model: 'efficientnet' });
    // One may have been running, and one more may have started in the time of its leaving.
    expect(after - before).toBeLessThanOrEqual(3);
    await eventually('memory is back', async () => (await server.metric('gimbal_arena_used_bytes')) === 0);
  });
});
