import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { generate } from '../../bench/loadgen/generator.ts';
import { treeUsage } from '../../bench/process-tree.ts';
import { eventually, GimbalUnderTest } from '../harness/gimbal.ts';
import { ModelFolder } from '../harness/models.ts';

/** Requests of the measured part; the warm-up before it lets heaps and arenas reach their working size. */
const REQUESTS = 200_000;
const WARMUP_REQUESTS = 200_000;
const MIB = 2 ** 20;

let models: ModelFolder;
let server: GimbalUnderTest;
let scratch: string;

beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'gimbal-soak-'));
  models = new ModelFolder(['digits-mlp', 'add-sub']);
  server = await GimbalUnderTest.start(models.path, { env: { GIMBAL_LOG_LEVEL: 'warn' } });
});

afterAll(async () => {
  await server?.stop();
  models?.remove();
  rmSync(scratch, { recursive: true, force: true });
});

it('memory, descriptors and processes are flat over 200,000 requests', async () => {
  await send(WARMUP_REQUESTS);
  const before = treeUsage(server.pid);
  await send(REQUESTS);
  await eventually(
    'everything in flight has ended',
    async () => (await server.metric('gimbal_inflight')) === 0,
  );
  const after = treeUsage(server.pid);
  if (!before || !after) return; // No /proc: nothing to measure with.
  expect(after.processes).toBe(before.processes);
  expect(after.descriptors).toBeLessThanOrEqual(before.descriptors + 4);
  expect(after.pssBytes).toBeLessThan(before.pssBytes + 48 * MIB);
  expect(await server.metric('gimbal_arena_used_bytes')).toBe(0);
}, 300_000);

/** The JavaScript heap of the host over a run; its low points are what is alive after a collection. */
class HeapSamples {
  readonly #bytes: number[] = [];

  /** Samples until told to stop. */
  start(): () => Promise<void> {
    let stopped = false;
    const loop = async (): Promise<void> => {
      while (!stopped) {
        this.#bytes.push(await server.metric('nodejs_heap_size_used_bytes'));
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    };
    const done = loop();
    return async () => {
      stopped = true;
      await done;
    };
  }

  /** Low point of the last third over that of the first. */
  get growthBytes(): number {
    const third = Math.floor(this.#bytes.length / 3);
    expect(third).toBeGreaterThan(10);
    return Math.min(...this.#bytes.slice(-third)) - Math.min(...this.#bytes.slice(0, third));
  }
}

/** At least `count` requests, good and bad mixed, in slices of two seconds. */
async function send(count: number, heap?: HeapSamples): Promise<void> {
  const stop = heap?.start();
  const good = join(scratch, 'good.json');
  const bad = join(scratch, 'bad.json');
  writeFileSync(good, JSON.stringify({ input: Array.from({ length: 64 }, (_, index) => index % 17) }));
  writeFileSync(bad, JSON.stringify({ input: [1, 2, 'three'] }));
  const one = (bodyFile: string) => ({
    path: '/v1/models/digits-mlp/predict',
    headers: ['Content-Type: application/json'],
    bodyFile,
    check: { kind: 'none' as const },
  });
  let sent = 0;
  for (let slice = 0; slice < 100 && sent < count; slice += 1) {
    const result = await generate({
      host: '127.0.0.1',
      port: server.port,
      cases: [...Array.from({ length: 9 }, () => one(good)), one(bad)],
      mode: { kind: 'closed', connections: 16, warmupSeconds: 0, seconds: 2 },
      deadlineMs: undefined,
    });
    expect(Object.keys(result.statuses).sort()).toEqual(['200', '422']);
    expect(result.failures).toEqual({ timeout: 0, connect: 0, reset: 0, 'wrong-answer': 0 });
    sent += Object.values(result.statuses).reduce((sum, each) => sum + each, 0);
  }
  await stop?.();
  expect(sent).toBeGreaterThanOrEqual(count);
}
