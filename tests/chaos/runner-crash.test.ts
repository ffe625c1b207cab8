import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually, GimbalUnderTest } from '../harness/gimbal.ts';
import { SteadyLoad, TestClient } from '../harness/load.ts';
import { ModelFolder } from '../harness/models.ts';

let models: ModelFolder;
let server: GimbalUnderTest;
let client: TestClient;

beforeAll(async () => {
  models = new ModelFolder(['digits-mlp', 'add-sub']);
  server = await GimbalUnderTest.start(models.path);
  client = new TestClient(server.http);
});

afterAll(async () => {
  client?.close();
  await server?.stop();
  models?.remove();
});

/** The runner that requests for digits-mlp go to: the latest version's, once it is ready and not `previous`. */
async function digitsRunner(previous = 0): Promise<number> {
  let pid = 0;
  await eventually('the digits runner is up', async () => {
    const runner = (await server.runners()).find((one) => one.model === 'digits-mlp' && one.version === '2');
    if (!runner || runner.pid === previous || !['ready', 'busy'].includes(runner.state)) return false;
    pid = runner.pid;
    return true;
  });
  return pid;
}

const row = JSON.stringify({ input: Array.from({ length: 64 }, (_, index) => index % 17) });

/** More than the ends within a minute that make a crash loop. */
const KILLS = 8;

/** Long enough for a runner to be started anew. */
const patient = { 'content-type': 'application/json', 'inference-timeout-ms': '20000' };

it('a runner killed with -9 under load comes back, and its requests are run again: nobody sees an error', async () => {
  const load = new SteadyLoad(16, () => client.post('/v1/models/digits-mlp/predict', row, patient));
  await eventually('load flows', () => load.seen.length > 500);
  const before = await digitsRunner();
  process.kill(before, 'SIGKILL');
  await digitsRunner(before);
  const atRecovery = load.seen.length;
  await eventually('load flows again', () => load.seen.length > atRecovery + 500);
  await load.stop();
  expect(load.failures).toEqual([]);
  expect(load.seen.slice(atRecovery).every((one) => one.status === 200)).toBe(true);
});

it('another model does not notice a crash next door', async () => {
  const input = JSON.stringify({ input: { INPUT0: Array(16).fill(2), INPUT1: Array(16).fill(1) } });
  const load = new SteadyLoad(4, () => client.post('/v1/models/add-sub/predict', input));
  await eventually('load flows', () => load.seen.length > 100);
  let victim = await digitsRunner();
  for (let kill = 0; kill < 2; kill += 1) {
    process.kill(victim, 'SIGKILL');
    victim = await digitsRunner(victim);
  }
  const seen = load.seen.length;
  await eventually('load goes on', () => load.seen.length > seen + 200);
  await load.stop();
  expect(load.failures).toEqual([]);
});

it('a frozen runner is ended within its limit and its request is answered by the next one', async () => {
  process.kill(await digitsRunner(), 'SIGSTOP');
  const answer = await client.post('/v1/models/digits-mlp/predict', row, patient);
  expect(answer.status).toBe(200);
  await eventually(
    'the model answers again',
    async () => (await client.post('/v1/models/digits-mlp/predict', row)).status === 200,
  );
});

it('kills in a row, more than a crash loop has, cost nobody an answer: a SIGKILL says nothing about the model', async () => {
  const pair = await GimbalUnderTest.start(models.path, { flags: ['--runners-count', '2'] });
  const calls = new TestClient(pair.http);
  const working = async () =>
    (await pair.runners()).filter(
      (one) => one.model === 'digits-mlp' && one.version === '2' && ['ready', 'busy'].includes(one.state),
    );
  const load = new SteadyLoad(8, () => calls.post('/v1/models/digits-mlp/predict', row, patient));
  try {
    await eventually('load flows', () => load.seen.length > 200);
    for (let kill = 0; kill < KILLS; kill += 1) {
      await eventually('both runners work', async () => (await working()).length === 2);
      const victim = (await working())[kill % 2];
      if (victim) process.kill(victim.pid, 'SIGKILL');
      const seen = load.seen.length;
      await eventually('load flows on', () => load.seen.length > seen + 100);
    }
    await load.stop();
    expect(load.failures).toEqual([]);
    const answer = await calls.post('/v1/models/digits-mlp/predict', row);
    expect(answer.status, 'the model was never taken for faulty').toBe(200);
  } finally {
    await load.stop();
    calls.close();
    await pair.stop();
  }
});
