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

const row = JSON.stringify({ input: Array.from({ length: 64 }, (_, index) => index % 17) });

it('a runner killed with -9 under load costs at most the batches it had and comes back', async () => {
  const load = new SteadyLoad(16, () => client.post('/v1/models/digits-mlp/predict', row));
  await eventually('load flows', () => load.seen.length > 500);
  const before = (await server.runners()).find((runner) => runner.model === 'digits-mlp');
  expect(before).toBeDefined();
  process.kill(before?.pid ?? 0, 'SIGKILL');
  await eventually('a new runner is ready', async () => {
    const after = (await server.runners()).find(
      (runner) => runner.model === 'digits-mlp' && runner.pid !== before?.pid,
    );
    return after?.state === 'ready' || after?.state === 'busy';
  });
  const atRecovery = load.seen.length;
  await eventually('load flows again', () => load.seen.length > atRecovery + 500);
  await load.stop();
  // 16 connections have at most 16 requests in the killed runner; nobody else may notice.
  expect(load.failures.length).toBeLessThanOrEqual(16);
  for (const failure of load.failures) {
    expect(failure.status).toBe(503);
    expect(JSON.parse(failure.body)).toMatchObject({ code: 'RUNNER_CRASHED', status: 503 });
  }
  expect(load.seen.slice(atRecovery).every((one) => one.status === 200)).toBe(true);
});

it('another model does not notice a crash next door', async () => {
  const input = JSON.stringify({ input: { INPUT0: Array(16).fill(2), INPUT1: Array(16).fill(1) } });
  const load = new SteadyLoad(4, () => client.post('/v1/models/add-sub/predict', input));
  await eventually('load flows', () => load.seen.length > 100);
  for (let kill = 0; kill < 2; kill += 1) {
    let victim: number | undefined;
    await eventually('the digits runner is up', async () => {
      victim = (await server.runners()).find(
        (runner) => runner.model === 'digits-mlp' && runner.state === 'ready',
      )?.pid;
      return victim !== undefined;
    });
    process.kill(victim ?? 0, 'SIGKILL');
  }
  const seen = load.seen.length;
  await eventually('load goes on', () => load.seen.length > seen + 200);
  await load.stop();
  expect(load.failures).toEqual([]);
});

it('a frozen runner is ended within its limit and its request is answered with a time-out', async () => {
  let victim: number | undefined;
  await eventually('the digits runner is up', async () => {
    victim = (await server.runners()).find(
      (runner) => runner.model === 'digits-mlp' && runner.state === 'ready',
    )?.pid;
    return victim !== undefined;
  });
  process.kill(victim ?? 0, 'SIGSTOP');
  const answer = await client.post('/v1/models/digits-mlp/predict', row, {
    'content-type': 'application/json',
    'inference-timeout-ms': '20000',
  });
  expect(answer.status).toBe(504);
  expect(JSON.parse(answer.body)).toMatchObject({ code: 'RUNNER_TIMED_OUT' });
  await eventually(
    'the model answers again',
    async () => (await client.post('/v1/models/digits-mlp/predict', row)).status === 200,
  );
});
