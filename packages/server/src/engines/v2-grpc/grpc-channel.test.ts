import { afterEach, describe, expect, test } from 'vitest';
import { DOUBLER } from '../testing/a-remote.ts';
import { FakeGrpcPeer, GRPC_STATUS } from '../testing/fake-grpc-peer.ts';
import { eventually, RemoteHarness, resultsOf } from '../testing/remote-harness.ts';

const peers: FakeGrpcPeer[] = [];
const harnesses: RemoteHarness[] = [];
const ROW = [{ values: [1, 2, 3, 4] }];

async function aPeer(): Promise<FakeGrpcPeer> {
  const peer = await FakeGrpcPeer.start();
  peers.push(peer);
  return peer;
}

async function openAt(...some: readonly FakeGrpcPeer[]): Promise<RemoteHarness> {
  const endpoints = some.map(({ address }) => address);
  const from = { kind: 'value', value: 'vision' } as const;
  const harness = new RemoteHarness({
    protocol: 'v2-grpc',
    endpoints,
    concurrency: 4,
    headers: [{ name: 'X-Team', from }],
  });
  harnesses.push(harness);
  await eventually(
    'up',
    () => harness.free.length > 0 && harness.pool.endpoints.every(({ state }) => state === 'up'),
  );
  return harness;
}

afterEach(async () => {
  await Promise.all(harnesses.splice(0).map((harness) => harness.stop()));
  for (const peer of peers.splice(0)) peer.kill();
});

describe('A remote engine over gRPC', () => {
  test('describes its model, and runs batches as one message', async () => {
    const peer = await aPeer();
    const harness = await openAt(peer);
    expect(harness.readies[0]?.signature).toEqual(DOUBLER);
    peer.infers.length = 0;
    const report = await harness.run([...ROW, { values: [5, 5, 5, 5, 6, 6, 6, 6] }], { deadlineMs: 900 });
    expect(resultsOf(report)).toEqual([
      [2, 4, 6, 8],
      [10, 10, 10, 10, 12, 12, 12, 12],
    ]);
    expect(peer.infers.map(({ rows }) => rows)).toEqual([3]);
    expect(peer.infers[0]?.timeoutMicros).toBeLessThanOrEqual(900_000);
    expect(peer.infers[0]?.metadata.get('x-team')).toEqual(['vision']);
  });

  test('may answer with typed contents', async () => {
    const peer = await aPeer();
    const harness = await openAt(peer);
    peer.mode = 'typed';
    expect(resultsOf(await harness.run(ROW))).toEqual([[2, 4, 6, 8]]);
  });

  test.each([
    ['garbage', 'OUTPUT_INVALID'],
    ['wrong-shape', 'OUTPUT_INVALID'],
    [GRPC_STATUS.INVALID_ARGUMENT, 'INVALID_INPUT'],
    [GRPC_STATUS.NOT_FOUND, 'MODEL_UNAVAILABLE'],
    [GRPC_STATUS.RESOURCE_EXHAUSTED, 'OVERLOADED'],
    [GRPC_STATUS.UNAVAILABLE, 'OVERLOADED'],
    [GRPC_STATUS.INTERNAL, 'RUNNER_CRASHED'],
    [GRPC_STATUS.DEADLINE_EXCEEDED, 'DEADLINE_EXCEEDED'],
  ] as const)('that answers with %s is told as %s', async (mode, code) => {
    const peer = await aPeer();
    const harness = await openAt(peer);
    peer.mode = mode;
    expect(resultsOf(await harness.run(ROW))).toEqual([code]);
  });

  test('sees a batch go that nobody waits for', async () => {
    const peer = await aPeer();
    const harness = await openAt(peer);
    peer.infers.length = 0;
    peer.mode = 'frozen';
    const { batchId, report } = await harness.begin(ROW, { predictedMs: 60_000 });
    await eventually('it is there', () => peer.infers.length > 0);
    harness.pool.cancel(batchId);
    expect(resultsOf(await report)).toEqual(['CANCELLED']);
    await eventually('it is gone', () => peer.infers[0]?.cancelled === true);
  });

  test('that is killed or frozen costs no batch while another works, and comes back', async () => {
    const [one, two] = [await aPeer(), await aPeer()];
    const harness = await openAt(one, two);
    const state = () => harness.pool.endpoints[0]?.state;
    for (const harm of [() => one.kill(), () => freeze(one)]) {
      harm();
      for (let batch = 0; batch < 50; batch += 1) {
        expect(resultsOf(await harness.run(ROW))).toEqual([[2, 4, 6, 8]]);
      }
      await eventually('it is out', () => state() === 'out');
      if (one.mode !== 'frozen') await one.restart();
      one.mode = 'good';
      await eventually('it is back', () => state() === 'up');
    }
  });
});

function freeze(peer: FakeGrpcPeer): void {
  peer.mode = 'frozen';
}
