import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually, GimbalUnderTest, processesTitled, ROOT } from '../harness/gimbal.ts';
import { SteadyLoad, TestClient } from '../harness/load.ts';
import { ModelFolder } from '../harness/models.ts';

let models: ModelFolder;
let server: GimbalUnderTest;

beforeEach(async () => {
  models = new ModelFolder(['digits-mlp', 'add-sub']);
  server = await GimbalUnderTest.start(models.path);
});

afterEach(async () => {
  await server?.stop();
  models?.remove();
});

const row = JSON.stringify({ input: Array.from({ length: 64 }, (_, index) => index % 17) });

it('the host killed with -9 leaves no runner behind', async () => {
  const pids = (await server.runners()).map((runner) => runner.pid);
  expect(pids.length).toBeGreaterThanOrEqual(2);
  server.signal('SIGKILL');
  await server.exited;
  const left = (): number[] => processesTitled('gimbal-runner').filter((pid) => pids.includes(pid));
  await eventually('all its runners are gone', () => left().length === 0, 10_000);
});

it('SIGTERM under load: no request fails while balancers notice, exit code 0, no process left', async () => {
  const client = new TestClient(server.http);
  const pids = (await server.runners()).map((runner) => runner.pid);
  const load = new SteadyLoad(8, () => client.post('/v1/models/digits-mlp/predict', row));
  await eventually('load flows', () => load.seen.length > 200);
  server.signal('SIGTERM');
  // A balancer: it stops sending when readiness fails, as the lame-duck time is there for.
  await eventually(
    'readiness fails at once',
    async () => (await fetch(`${server.http}/readyz`)).status === 503,
  );
  const atNotice = load.seen.length;
  await eventually(
    'requests are still answered in the lame-duck time',
    () => load.seen.length > atNotice + 50,
  );
  await load.stop();
  const exit = await server.exited;
  client.close();
  expect(load.failures).toEqual([]);
  expect(exit).toEqual({ code: 0, signal: null });
  expect(processesTitled('gimbal-runner').filter((pid) => pids.includes(pid))).toEqual([]);
});

it('answers carry Connection: close while draining', async () => {
  server.signal('SIGTERM');
  await eventually(
    'draining is seen',
    async () => {
      const client = new TestClient(server.http, 1);
      const answer = await client.post('/v1/models/digits-mlp/predict', row);
      client.close();
      return answer.status === 200 && answer.connectionHeader === 'close';
    },
    2_500,
  );
});

it('a second signal shortens the drain', async () => {
  // With ten minutes of lame-duck time, only the second signal can end it within the test's limit.
  const env = { GIMBAL_DRAIN_LAME_DUCK_MS: '600000', GIMBAL_DRAIN_DRAIN_TIMEOUT_MS: '600000' };
  const patient = await GimbalUnderTest.start(models.path, { env });
  patient.signal('SIGTERM');
  await eventually('draining', async () => (await fetch(`${patient.http}/readyz`)).status === 503);
  patient.signal('SIGINT');
  expect(await patient.exited).toEqual({ code: 0, signal: null });
});

it('a server whose starting script was killed alone drains and ends', async () => {
  // The script between: it starts the server as npm's script and the hand-over to a newer Node do.
  const script = `
    const { spawn } = require('node:child_process');
    const env = { ...process.env, GIMBAL_END_WITH_PARENT: String(process.pid), GIMBAL_DRAIN_LAME_DUCK_MS: '0' };
    spawn(process.execPath, ${JSON.stringify([
      join(ROOT, 'packages/cli/src/main.ts'),
      'serve',
      models.path,
      '--port',
      '0',
      '--admin-port',
      '0',
      '--json',
    ])}, { stdio: 'inherit', env });`;
  const starter = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'ignore'] });
  const ready = await new Promise<{ http: string; pid: number }>((resolve) => {
    createInterface({ input: starter.stdout }).on('line', (line) => {
      const event = JSON.parse(line) as { event: string; http: string; pid: number };
      if (event.event === 'ready') resolve(event);
    });
  });
  starter.kill('SIGKILL');
  await eventually('the server is gone', () => {
    try {
      process.kill(ready.pid, 0);
      return false;
    } catch {
      return true;
    }
  });
});
