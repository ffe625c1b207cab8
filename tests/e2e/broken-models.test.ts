import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually, FIXTURES, GimbalUnderTest } from '../harness/gimbal.ts';
import { SteadyLoad, TestClient } from '../harness/load.ts';
import { ModelFolder } from '../harness/models.ts';

const BROKEN = join(FIXTURES, 'samples', 'broken-models');
/** What the reason must name, so that its reader knows what to do. */
const REASONS: Readonly<Record<string, RegExp>> = {
  bfloat16: /bfloat16|type/i,
  empty: /empty/i,
  'external-data-escape': /external|outside|folder/i,
  'external-data-missing': /external|missing|not there/i,
  'not-a-model': /not an? (onnx )?model|not onnx|protobuf|cannot read/i,
  'opset-999': /opset/i,
  truncated: /truncated|cut|ends/i,
  'unknown-operator': /operator|op /i,
};

let models: ModelFolder;
let server: GimbalUnderTest;
const names = readdirSync(BROKEN).map((file) => file.replace('.onnx', ''));

beforeAll(async () => {
  models = new ModelFolder(['add-sub']);
  for (const name of names) models.addFile(join(BROKEN, `${name}.onnx`), name);
  server = await GimbalUnderTest.start(models.path);
});

afterAll(async () => {
  await server?.stop();
  models?.remove();
});

it('every kind of broken file is among the samples', () => {
  expect(names.sort()).toEqual(Object.keys(REASONS).sort());
});

it.each(Object.keys(REASONS))('%s is refused with its reason', async (name) => {
  const index = (await (await fetch(`${server.http}/v2/repository/index`, { method: 'POST' })).json()) as {
    name: string;
    state?: string;
    reason?: string;
  }[];
  const entry = index.find((one) => one.name === name);
  expect(entry?.state).toBe('UNAVAILABLE');
  expect(entry?.reason).toMatch(REASONS[name] as RegExp);
  expect(entry?.reason, 'no absolute path of the server leaks').not.toContain(models.path);
  const answer = await fetch(`${server.http}/v2/models/${name}/infer`, {
    method: 'POST',
    body: '{"inputs":[]}',
  });
  expect([404, 503]).toContain(answer.status);
});

it('the good model serves on while broken ones come and go', async () => {
  const client = new TestClient(server.http, 4);
  const body = JSON.stringify({ input: { INPUT0: Array(16).fill(2), INPUT1: Array(16).fill(1) } });
  const load = new SteadyLoad(4, () => client.post('/v1/models/add-sub/predict', body));
  models.addFile(join(BROKEN, 'truncated.onnx'), 'late');
  await eventually('the late broken model is known', async () => {
    const index = (await (await fetch(`${server.http}/v2/repository/index`, { method: 'POST' })).json()) as {
      name: string;
    }[];
    return index.some((one) => one.name === 'late');
  });
  rmSync(join(models.path, 'late'), { recursive: true });
  models.addFile(join(FIXTURES, 'models', 'add-sub', '1', 'model.onnx'), 'late');
  await eventually(
    'the mended model serves',
    async () => (await client.post('/v1/models/late/predict', body)).status === 200,
  );
  await load.stop();
  client.close();
  expect(load.failures).toEqual([]);
});
