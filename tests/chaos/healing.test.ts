import { existsSync, readFileSync } from 'node:fs';
import { afterEach, expect, it } from 'vitest';
import { eventually, GimbalUnderTest } from '../harness/gimbal.ts';
import { SteadyLoad, TestClient } from '../harness/load.ts';
import { ModelFolder } from '../harness/models.ts';

let models: ModelFolder | undefined;
let server: GimbalUnderTest | undefined;
let client: TestClient | undefined;

afterEach(async () => {
  client?.close();
  await server?.stop();
  models?.remove();
});

async function serve(names: readonly string[], env: Record<string, string>): Promise<GimbalUnderTest> {
  models = new ModelFolder(names);
  server = await GimbalUnderTest.start(models.path, { flags: ['--drills'], env });
  client = new TestClient(server.http);
  return server;
}

const row = JSON.stringify({ input: Array.from({ length: 64 }, (_, index) => index % 17) });
const patient = { 'content-type': 'application/json', 'inference-timeout-ms': '20000' };

async function inject(on: GimbalUnderTest, fault: object): Promise<void> {
  const answer = await fetch(`${on.admin}/admin/v1/faults`, { method: 'POST', body: JSON.stringify(fault) });
  expect(answer.status, await answer.text()).toBe(200);
}

async function runnersOf(on: GimbalUnderTest, model: string) {
  return (await on.runners()).filter((runner) => runner.model === model);
}

it('runners that all crash together come back, and no request is lost', async () => {
  const on = await serve(['digits-mlp'], { GIMBAL_RUNNERS_COUNT: '2' });
  const allWork = async () => {
    const runners = await runnersOf(on, 'digits-mlp');
    return runners.length === 4 && runners.every(({ state }) => state === 'ready' || state === 'busy');
  };
  const post = () => (client as TestClient).post('/v1/models/digits-mlp/predict', row, patient);
  await eventually('all runners work', allWork);
  const load = new SteadyLoad(8, post);
  await eventually('load flows', () => load.seen.length > 200);
  await inject(on, { kind: 'kill', model: 'digits-mlp', runners: 16 });
  await eventually('all are back', async () => {
    const runners = await runnersOf(on, 'digits-mlp');
    return runners.every(({ restarts }) => restarts > 0) && (await allWork());
  });
  const seen = load.seen.length;
  await eventually('load flows again', () => load.seen.length > seen + 200);
  await load.stop();
  expect(load.failures).toEqual([]);
});

it('a spare runner answers at once after a kill, though a model load would take long', async () => {
  const on = await serve(['digits-mlp'], { GIMBAL_RUNNERS_SPARE: '1' });
  const isWarm = async () => {
    const runners = (await runnersOf(on, 'digits-mlp')).filter(({ version }) => version === '2');
    return runners.length === 2 && runners.every(({ state }) => state === 'ready');
  };
  await eventually('the spare is warm', isWarm);
  const before = new Set((await on.runners()).map(({ pid }) => pid));
  await inject(on, { kind: 'kill', model: 'digits-mlp', version: '2' });
  const answer = await (client as TestClient).post('/v1/models/digits-mlp/predict', row, patient);
  expect(answer.status).toBe(200);
  const log = () => on.log.filter((line) => line.includes('The spare runner took over'));
  await eventually('it is in the log', () => log().length === 1);
  await eventually('another spare is warm', isWarm);
  expect((await on.runners()).some(({ pid }) => !before.has(pid))).toBe(true);
});

it('how a runner ended is in the log: killed from outside, crashed, hung', async () => {
  const on = await serve(['digits-mlp'], {});
  const answered = async () =>
    (await (client as TestClient).post('/v1/models/digits-mlp/predict', row, patient)).status === 200;
  const causes = () =>
    on.log.flatMap((line) => {
      const { message = '', cause } = JSON.parse(line) as { message?: string; cause?: string };
      return message.startsWith('A runner was lost') ? [cause] : [];
    });
  const breaks = { model: 'digits-mlp', version: '2', runners: 1 };
  const faults = [
    { ...breaks, kind: 'kill' },
    { ...breaks, kind: 'crash', batches: 1 },
    { ...breaks, kind: 'hang', batches: 1 },
  ];
  for (const [index, fault] of faults.entries()) {
    await eventually('the model answers', answered);
    await inject(on, fault);
    // A crash and a hang need a batch; whoever was inside is answered by the next runner.
    expect(await answered()).toBe(true);
    await eventually('the loss is told', () => causes().length === index + 1);
  }
  expect(causes()).toEqual(['killed', 'crashed', 'hung']);
});

it('the kernel would end runners before the host', async () => {
  if (!existsSync('/proc/self/oom_score_adj')) return;
  const on = await serve(['add-sub'], {});
  const [runner] = await on.runners();
  const score = (pid: number) => Number(readFileSync(`/proc/${pid}/oom_score_adj`, 'latin1'));
  if (on.log.some((line) => line.includes('oom_score_adj'))) return;
  expect(score(runner?.pid ?? 0)).toBe(Math.min(1000, Math.max(0, score(on.pid)) + 500));
});

it('without drills no fault is injected, and the answer says how to allow it', async () => {
  models = new ModelFolder(['add-sub']);
  server = await GimbalUnderTest.start(models.path);
  const answer = await fetch(`${server.admin}/admin/v1/faults`, { method: 'POST', body: '{"kind":"kill"}' });
  expect(answer.status).toBe(403);
  expect(await answer.json()).toMatchObject({
    code: 'PERMISSION_DENIED',
    detail: expect.stringContaining('"drills: true"'),
  });
  expect((await server.runners()).every(({ restarts }) => restarts === 0)).toBe(true);
});
