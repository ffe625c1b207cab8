import { afterEach, describe, expect, test } from 'vitest';
import { DOUBLER } from './testing/a-remote.ts';
import { FakePeer, type PeerMode } from './testing/fake-peer.ts';
import { eventually, RemoteHarness, resultsOf } from './testing/remote-harness.ts';

const peers: FakePeer[] = [];
const harnesses: RemoteHarness[] = [];

async function aPeer(mode: PeerMode = 'good'): Promise<FakePeer> {
  const peer = await FakePeer.start();
  peer.mode = mode;
  peers.push(peer);
  return peer;
}

function open(...given: ConstructorParameters<typeof RemoteHarness>): RemoteHarness {
  const harness = new RemoteHarness(...given);
  harnesses.push(harness);
  return harness;
}

afterEach(async () => {
  await Promise.all(harnesses.splice(0).map((harness) => harness.stop()));
  await Promise.all(peers.splice(0).map((peer) => peer.kill()));
});

describe('A remote pool', () => {
  test('asks the server for the signature, measures a run, and opens slots', async () => {
    const peer = await aPeer();
    const harness = open({ endpoints: [peer.address] });
    expect(resultsOf(await harness.run([{ values: [1, 2, 3, 4] }]))).toEqual([[2, 4, 6, 8]]);
    const [ready] = harness.readies;
    expect(ready?.signature).toEqual(DOUBLER);
    expect(ready?.device).toBe('remote');
    expect(ready?.profile.points[0]?.rows).toBe(1);
    expect(harness.pool.views[0]).toMatchObject({ state: 'ready', device: 'remote', transport: 'socket' });
  });

  test('sends a batch as one request with the rows of all parts, and gives each its own', async () => {
    const peer = await aPeer();
    const harness = open({ endpoints: [peer.address] });
    await eventually('ready', () => harness.free.length > 0);
    peer.infers.length = 0;
    const report = await harness.run([
      { values: [1, 1, 1, 1] },
      { values: [2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4], slice: { firstRow: 1, rows: 2 } },
    ]);
    expect(resultsOf(report)).toEqual([
      [2, 2, 2, 2],
      [6, 6, 6, 6, 8, 8, 8, 8],
    ]);
    expect(peer.infers.map(({ rows }) => rows)).toEqual([3]);
    expect(peer.infers[0]?.headers['inference-header-content-length']).toBeDefined();
  });

  test('speaks JSON to a server that does not list the binary extension', async () => {
    const peer = await aPeer();
    peer.binary = false;
    const harness = open({ endpoints: [peer.address] });
    expect(resultsOf(await harness.run([{ values: [1, 2, 3, 0.5] }]))).toEqual([[2, 4, 6, 1]]);
    expect(peer.infers.every(({ headers }) => headers['inference-header-content-length'] === undefined)).toBe(
      true,
    );
  });

  test('reads outputs that come as JSON though bytes were asked for', async () => {
    const peer = await aPeer();
    peer.answersJson = true;
    const harness = open({ endpoints: [peer.address] });
    expect(resultsOf(await harness.run([{ values: [1, 2, 3, 4] }]))).toEqual([[2, 4, 6, 8]]);
  });

  test('answers the native API from the outputs, and refuses what is not finite', async () => {
    const peer = await aPeer();
    const harness = open({ endpoints: [peer.address] });
    const report = await harness.run([
      { values: [1, 2, 3, 4], want: 'answer' },
      { values: [Number.NaN, 2, 3, 4], want: 'answer' },
    ]);
    expect(resultsOf(report)).toEqual(['"outputs":{"y":[[2,4,6,8]]}', 'OUTPUT_INVALID']);
  });

  test('tells the server how much time is left', async () => {
    const peer = await aPeer();
    const harness = open({ endpoints: [peer.address] });
    await eventually('ready', () => harness.free.length > 0);
    peer.infers.length = 0;
    await harness.run([{ values: [1, 2, 3, 4] }], { deadlineMs: 700 });
    const [seen] = peer.infers;
    const headerMs = Number(seen?.headers['inference-timeout-ms']);
    expect(headerMs).toBeGreaterThan(0);
    expect(headerMs).toBeLessThanOrEqual(700);
    expect(Number(seen?.head.parameters.timeout) / 1000).toBeLessThanOrEqual(700);
  });

  test('refuses to serve a declaration that the server contradicts, and says which tensor', async () => {
    const peer = await aPeer();
    const [input] = DOUBLER.inputs;
    const signature = { ...DOUBLER, inputs: [{ ...input, datatype: 'INT64' } as never] };
    const harness = open({ endpoints: [peer.address] }, { version: { signature } });
    await eventually('a fault', () => harness.faults.length > 0);
    expect(harness.faults[0]?.code).toBe('MODEL_UNAVAILABLE');
    expect(harness.faults[0]?.message).toMatch(/"x".*FP32, expected INT64/);
    expect(harness.readies).toEqual([]);
  });

  test('puts secrets from the environment into headers, and tells only the name of one that is missing', async () => {
    const peer = await aPeer();
    const from = { kind: 'environment', variable: 'PEER_TOKEN', prefix: 'Bearer ' } as const;
    const remote = { endpoints: [peer.address], headers: [{ name: 'Authorization', from }] };
    const harness = open(remote, { environment: { PEER_TOKEN: 's3cret' } });
    await harness.run([{ values: [1, 2, 3, 4] }]);
    expect(peer.infers[0]?.headers.authorization).toBe('Bearer s3cret');
    const poor = open(remote, { environment: {} });
    await eventually('a fault', () => poor.faults.length > 0);
    expect(poor.faults[0]?.message).toContain('PEER_TOKEN');
  });

  test('stops: idle slots at once, a batch that is out after the grace', async () => {
    const peer = await aPeer();
    const harness = new RemoteHarness({ endpoints: [peer.address] });
    await eventually('ready', () => harness.free.length > 0);
    peer.mode = 'deaf';
    const { report, id } = await harness.begin([{ values: [1, 2, 3, 4] }], {
      deadlineMs: 60_000,
      predictedMs: 60_000,
    });
    const ended = expect(report).rejects.toMatchObject({ code: 'DRAINING' });
    await harness.pool.stop(50);
    await ended;
    expect(harness.retiring).toEqual([id]);
    expect(harness.pool.views).toEqual([]);
  });
});

describe('A batch that nobody waits for any more', () => {
  test('is called off on the wire and reported as cancelled', async () => {
    const peer = await aPeer();
    const harness = open({ endpoints: [peer.address] });
    await eventually('ready', () => harness.free.length > 0);
    peer.infers.length = 0;
    peer.mode = 'deaf';
    const { batchId, report } = await harness.begin([{ values: [1, 2, 3, 4] }], { predictedMs: 60_000 });
    await eventually('it is there', () => peer.infers.at(-1)?.aborted === false && peer.infers.length > 0);
    harness.pool.cancel(batchId);
    expect(resultsOf(await report)).toEqual(['CANCELLED']);
    await eventually('the server sees it go', () => peer.infers.at(-1)?.aborted === true);
    expect(harness.pool.endpoints[0]?.failures).toBe(0);
  });

  test('whose slot is killed ends with the reason, and another slot takes its place', async () => {
    const peer = await aPeer();
    const harness = open({ endpoints: [peer.address], concurrency: 1 });
    await eventually('ready', () => harness.free.length > 0);
    peer.mode = 'deaf';
    const { id, report } = await harness.begin([{ values: [1, 2, 3, 4] }], { predictedMs: 60_000 });
    const { GimbalError } = await import('@gimbal/core');
    const ended = expect(report).rejects.toMatchObject({ code: 'RUNNER_TIMED_OUT' });
    harness.pool.kill(id, new GimbalError('RUNNER_TIMED_OUT', 'Cannot answer: a drill'));
    await ended;
    peer.mode = 'good';
    expect(resultsOf(await harness.run([{ values: [1, 2, 3, 4] }]))).toEqual([[2, 4, 6, 8]]);
  });
});

describe('An answer that is none', () => {
  test.each<[PeerMode, string, RegExp]>([
    ['no-json', 'OUTPUT_INVALID', /can not be read/],
    ['wrong-shape', 'OUTPUT_INVALID', /"y" has the shape \[1, 5\], expected \[1, 4\]/],
    ['left-over', 'OUTPUT_INVALID', /3 bytes follow/],
    ['endless', 'OUTPUT_INVALID', /too large/],
    ['cut', 'RUNNER_CRASHED', /inside its answer/],
    ['half-closed', 'RUNNER_CRASHED', /ended the connection/],
    ['failing', 'RUNNER_CRASHED', /"the backend went away" \(status 500\)/],
    ['overloaded', 'OVERLOADED', /too many requests/],
    ['no-model', 'MODEL_UNAVAILABLE', /does not have the model/],
  ])('(%s) is told as %s', async (mode, code, words) => {
    const peer = await aPeer();
    const harness = open({ endpoints: [peer.address] });
    await eventually('ready', () => harness.free.length > 0);
    peer.mode = mode;
    const { parts } = await harness.run([{ values: [1, 2, 3, 4] }]);
    expect(parts[0]).toMatchObject({ ok: false, code });
    expect((parts[0] as { message: string }).message).toMatch(words);
    expect((parts[0] as { message: string }).message).not.toContain('127.0.0.1');
  });

  test('(an input that the model refuses) costs its neighbours nothing', async () => {
    const peer = await aPeer('picky');
    const harness = open({ endpoints: [peer.address] });
    const parts = [1, 2, -3, 4, 5].map((value) => ({ values: [value, 0, 0, 0] }));
    const results = resultsOf(await harness.run(parts));
    expect(results.map((result) => (typeof result === 'string' ? result : result[0]))).toEqual([
      2,
      4,
      'INVALID_INPUT',
      8,
      10,
    ]);
    expect(harness.pool.endpoints[0]?.state).toBe('up');
  });
});
