import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { afterEach, describe, expect, test } from 'vitest';
import { FakePeer, type PeerMode } from './testing/fake-peer.ts';
import { eventually, RemoteHarness, resultsOf } from './testing/remote-harness.ts';

const peers: FakePeer[] = [];
const harnesses: RemoteHarness[] = [];

async function threePeers(): Promise<[FakePeer, FakePeer, FakePeer]> {
  const three = await Promise.all([FakePeer.start(), FakePeer.start(), FakePeer.start()]);
  peers.push(...three);
  return three as [FakePeer, FakePeer, FakePeer];
}

async function openAt(
  some: readonly FakePeer[],
  more: Partial<ConstructorParameters<typeof RemoteHarness>[0]> = {},
) {
  const harness = new RemoteHarness({
    endpoints: some.map(({ address }) => address),
    concurrency: 4,
    ...more,
  });
  harnesses.push(harness);
  await eventually(
    'all are up',
    () => harness.pool.endpoints.every(({ state }) => state === 'up') && harness.free.length > 0,
  );
  return harness;
}

const stateOf = (harness: RemoteHarness, peer: FakePeer) =>
  harness.pool.endpoints.find(({ address }) => address === peer.address)?.state;

interface Tally {
  good: number;
  bad: string[];
  latestMs: number;
}

/** Keeps so many batches going until so many were sent; what happens along the way is told by their number. */
async function traffic(
  harness: RemoteHarness,
  { batches, callers, deadlineMs }: { batches: number; callers: number; deadlineMs: number },
  onBatch: (sent: number) => unknown = () => {},
): Promise<Tally> {
  const tally: Tally = { good: 0, bad: [], latestMs: 0 };
  let sent = 0;
  const caller = async (): Promise<void> => {
    while (sent < batches) {
      sent += 1;
      await onBatch(sent);
      const startedAt = performance.now();
      const report = await harness.run([{ values: [1, 2, 3, 4] }], { deadlineMs });
      const tookMs = performance.now() - startedAt;
      tally.latestMs = Math.max(tally.latestMs, tookMs);
      const [result] = resultsOf(report);
      if (Array.isArray(result) && result[3] === 8) tally.good += 1;
      else tally.bad.push(String(result));
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return tally;
}

afterEach(async () => {
  await Promise.all(harnesses.splice(0).map((harness) => harness.stop()));
  await Promise.all(peers.splice(0).map((peer) => peer.kill().catch(() => {})));
});

describe('With one bad endpoint of three', () => {
  test.each<[string, (peer: FakePeer) => unknown]>([
    ['is killed', (peer) => peer.kill()],
    ['freezes', (peer) => set(peer, 'frozen')],
    ['answers probes but no batch', (peer) => set(peer, 'deaf')],
    ['closes connections', (peer) => set(peer, 'half-closed')],
    ['cuts its answers off', (peer) => set(peer, 'cut')],
    ['talks nonsense', (peer) => set(peer, 'no-json')],
    ['fails', (peer) => set(peer, 'failing')],
    ['loses the model', (peer) => set(peer, 'no-model')],
  ])(
    'that %s, at least 99.9 % of batches are answered in time, with at most a tenth of retries',
    async (_, harm) => {
      const three = await threePeers();
      const harness = await openAt(three);
      const [bad] = three;
      for (const peer of three) peer.delayMs = 1;
      const plan = { batches: 2_000, callers: 6, deadlineMs: 2_000 };
      const tally = await traffic(harness, plan, (sent) => (sent === 500 ? harm(bad) : undefined));
      expect(tally.bad.length, tally.bad.join(' ')).toBeLessThanOrEqual(plan.batches / 1000);
      expect(tally.latestMs).toBeLessThan(plan.deadlineMs);
      const { requests, retries } = harness.pool.counters;
      expect(requests).toBe(plan.batches);
      expect(retries).toBeLessThanOrEqual(plan.batches / 10);
      expect(stateOf(harness, bad)).toBe('out');
    },
  );

  test('that flaps, the others answer, and it comes back each time', async () => {
    const three = await threePeers();
    const harness = await openAt(three);
    const [bad] = three;
    for (const peer of three) peer.delayMs = 1;
    const plan = { batches: 3_000, callers: 6, deadlineMs: 2_000 };
    const tally = await traffic(harness, plan, async (sent) => {
      if (sent % 500 !== 0) return;
      if (sent % 1000 === 500) await bad.kill();
      else await bad.restart();
    });
    expect(tally.bad.length, tally.bad.join(' ')).toBeLessThanOrEqual(plan.batches / 1000);
    expect(harness.pool.counters.retries).toBeLessThanOrEqual(plan.batches / 10);
    await eventually('it is back', () => stateOf(harness, bad) === 'up');
  });
});

describe('An endpoint that freezes', () => {
  test('is out within two seconds without any traffic, and takes batches again after it thaws', async () => {
    const three = await threePeers();
    const harness = await openAt(three, { probeIntervalMs: 500, probeTimeoutMs: 500 });
    const [bad] = three;
    bad.mode = 'frozen';
    const frozenAt = performance.now();
    await eventually('it is out', () => stateOf(harness, bad) === 'out');
    expect(performance.now() - frozenAt).toBeLessThan(2_000);
    bad.mode = 'good';
    await eventually('it is back', () => stateOf(harness, bad) === 'up');
    bad.infers.length = 0;
    await traffic(harness, { batches: 50, callers: 6, deadlineMs: 1_000 });
    expect(bad.infers.length).toBeGreaterThan(0);
  });
});

describe('When all endpoints are out', () => {
  test('the variant is at fault and all slots are lost; one that comes back mends both', async () => {
    const [peer] = await threePeers();
    const harness = await openAt([peer]);
    const slots = harness.pool.views.length;
    await peer.kill();
    await eventually('a fault', () => harness.faults.length === 1);
    expect(harness.faults[0]?.code).toBe('MODEL_UNAVAILABLE');
    expect(harness.faults[0]?.message).toMatch(/its endpoint is out: .*can not be reached/);
    await eventually('no slots', () => harness.lost.length === slots);
    expect(harness.pool.views).toMatchObject([{ state: 'faulted' }]);
    await peer.restart();
    await eventually('it is mended', () => harness.faults.length === 2 && harness.free.length === slots);
    expect(harness.faults[1]).toBeUndefined();
    expect(resultsOf(await harness.run([{ values: [1, 2, 3, 4] }]))).toEqual([[2, 4, 6, 8]]);
  });

  test('at the start, it is said at once, and served when the first one comes', async () => {
    const [peer] = await threePeers();
    await peer.kill();
    const harness = new RemoteHarness({ endpoints: [peer.address] });
    harnesses.push(harness);
    await eventually('a fault', () => harness.faults.length === 1);
    await peer.restart();
    expect(resultsOf(await harness.run([{ values: [1, 2, 3, 4] }]))).toEqual([[2, 4, 6, 8]]);
  });
});

describe('A deadline', () => {
  test('ends a batch in time whatever the endpoints do, and blames none of them for a short one', async () => {
    const three = await threePeers();
    const harness = await openAt(three);
    for (const peer of three) peer.delayMs = 400;
    const startedAt = performance.now();
    const report = await harness.run([{ values: [1, 2, 3, 4] }], { deadlineMs: 60 });
    expect(performance.now() - startedAt).toBeLessThan(400);
    expect(resultsOf(report)).toEqual(['DEADLINE_EXCEEDED']);
    expect(harness.pool.endpoints.map(({ state }) => state)).toEqual(['up', 'up', 'up']);
  });
});

describe('Overload', () => {
  test('is not carried to endpoints that are busy, and opens no breaker', async () => {
    const three = await threePeers();
    const harness = await openAt(three.slice(0, 2));
    const [one, two] = three;
    one.mode = 'overloaded';
    two.mode = 'overloaded';
    const tally = await traffic(harness, { batches: 200, callers: 8, deadlineMs: 1_000 });
    expect(new Set(tally.bad)).toEqual(new Set(['OVERLOADED']));
    expect(harness.pool.endpoints.map(({ state }) => state)).toEqual(['up', 'up']);
  });

  test('moves on to an endpoint that is idle', async () => {
    const [one, two] = await threePeers();
    const harness = await openAt([one, two]);
    one.mode = 'overloaded';
    const results = [];
    for (let index = 0; index < 10; index += 1) {
      results.push(...resultsOf(await harness.run([{ values: [1, 2, 3, 4] }])));
    }
    expect(results.every((result) => Array.isArray(result))).toBe(true);
  });
});

describe('A hedge', () => {
  test('answers for a run that takes longer than most, within its budget; the loser is called off', async () => {
    const [one, two] = await threePeers();
    const harness = await openAt([one, two], { hedgeRatio: 0.1 });
    for (const peer of [one, two]) {
      peer.delayMs = 2;
      peer.slowMs = 120;
    }
    await traffic(harness, { batches: 100, callers: 2, deadlineMs: 2_000 });
    for (const peer of [one, two]) peer.slowEvery = 25;
    const tally = await traffic(harness, { batches: 200, callers: 2, deadlineMs: 2_000 });
    expect(tally.good).toBe(200);
    const { hedges, hedgesWon, requests } = harness.pool.counters;
    expect(hedgesWon).toBeGreaterThan(0);
    expect(hedges).toBeLessThanOrEqual(requests * 0.1 + 1);
    const called = [...one.infers, ...two.infers];
    await eventually('the losers are gone', () => called.some(({ aborted }) => aborted));
  });
});

describe('Concurrency', () => {
  test('that is found grows while batches do not make each other wait, and stays within its bound', async () => {
    const [peer] = await threePeers();
    peer.delayMs = 5;
    const harness = await openAt([peer], { concurrency: 'auto', maxConcurrency: 6 });
    expect(harness.pool.views.length).toBe(2);
    await traffic(harness, { batches: 1_200, callers: 12, deadlineMs: 2_000 });
    expect(harness.pool.views.length).toBeGreaterThan(2);
    expect(harness.pool.views.length).toBeLessThanOrEqual(6);
    expect(peer.connections).toBeLessThanOrEqual(6 + 2);
  });
});

const certificate = makeCertificate();

describe.runIf(certificate)('TLS', () => {
  test('a certificate of nobody known is refused with the reason; a declared authority is trusted', async () => {
    const { folder, key, cert } = certificate as NonNullable<typeof certificate>;
    const peer = await FakePeer.start({ key, cert });
    peers.push(peer);
    const strict = new RemoteHarness({ endpoints: [peer.address] });
    harnesses.push(strict);
    await eventually('a fault', () => strict.faults.length > 0);
    expect(strict.faults[0]?.message).toMatch(/certificate is not trusted/);
    const tls = { ca: join(folder, 'cert.pem'), cert: undefined, key: undefined, serverName: 'engine.test' };
    const trusting = new RemoteHarness({ endpoints: [peer.address], tls });
    harnesses.push(trusting);
    expect(resultsOf(await trusting.run([{ values: [1, 2, 3, 4] }]))).toEqual([[2, 4, 6, 8]]);
    rmSync(folder, { recursive: true });
  });
});

function set(peer: FakePeer, mode: PeerMode): void {
  peer.mode = mode;
}

/** Undefined where there is no openssl. */
function makeCertificate(): { folder: string; key: Buffer; cert: Buffer } | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'gimbal-tls-'));
  const names = ['-subj', '/CN=engine.test', '-addext', 'subjectAltName=DNS:engine.test'];
  const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')];
  try {
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    execFileSync('openssl', ['req', '-x509', ...kind, ...names, ...files], { stdio: 'ignore' });
    return {
      folder,
      key: readFileSync(join(folder, 'key.pem')),
      cert: readFileSync(join(folder, 'cert.pem')),
    };
  } catch {
    rmSync(folder, { recursive: true, force: true });
    return undefined;
  }
}
