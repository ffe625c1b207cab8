import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { randomInteger, SeededRandom } from '@gimbal/core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { treeUsage } from '../../bench/process-tree.ts';
import { eventually, FIXTURES, GimbalUnderTest } from '../harness/gimbal.ts';
import { TestClient } from '../harness/load.ts';
import { ModelFolder } from '../harness/models.ts';

const BODIES = 10_000;
const SEED = Number(process.env.GIMBAL_FUZZ_SEED ?? 7);
const MIB = 2 ** 20;

let models: ModelFolder;
let server: GimbalUnderTest;

beforeAll(async () => {
  models = new ModelFolder(['digits-mlp', 'add-sub', 'string-echo', 'all-types', 'examples/efficientnet']);
  server = await GimbalUnderTest.start(models.path, { env: { GIMBAL_LOG_LEVEL: 'warn' } });
});

afterAll(async () => {
  await server?.stop();
  models?.remove();
});

interface Shot {
  readonly path: string;
  readonly body: Uint8Array;
  readonly headers: Record<string, string>;
}

it(`${BODIES} fuzzed bodies get an honest answer and hurt nothing`, async () => {
  const random = new SeededRandom(SEED);
  const client = new TestClient(server.http, 8);
  const pids = (await server.runners()).map((runner) => runner.pid);
  for (let warm = 0; warm < 300; warm += 1) await fire(client, makeShot(random));
  const before = treeUsage(server.pid);
  const wrong: string[] = [];
  for (let sent = 0; sent < BODIES; sent += 8) {
    const shots = Array.from({ length: 8 }, () => makeShot(random));
    const answers = await Promise.all(shots.map((shot) => fire(client, shot)));
    for (const [index, answer] of answers.entries()) {
      const shot = shots[index] as Shot;
      // A mutation may still be a good request; a server error never is a good answer.
      if (answer.status >= 200 && answer.status < 500) continue;
      if (answer.status === 501) continue; // An unknown Content-Encoding, by the protocol.
      wrong.push(
        `${answer.status} ${answer.error ?? ''} ${shot.path} ${Buffer.from(shot.body).subarray(0, 200).toString('latin1')} → ${answer.body.slice(0, 200)}`,
      );
    }
    if (wrong.length > 5) break;
  }
  client.close();
  expect(wrong, `replay with GIMBAL_FUZZ_SEED=${SEED}`).toEqual([]);
  expect((await server.runners()).map((runner) => runner.pid)).toEqual(pids);
  await eventually('nothing is held', async () => (await server.metric('gimbal_arena_used_bytes')) === 0);
  const after = treeUsage(server.pid);
  if (before && after) {
    expect(after.pssBytes).toBeLessThan(before.pssBytes + 96 * MIB);
    expect(after.processes).toBe(before.processes);
  }
}, 600_000);

it('every odd file is decoded or refused with 4xx, as an image and as a tensor', async () => {
  const client = new TestClient(server.http, 2);
  const folder = join(FIXTURES, 'samples', 'edge');
  for (const name of readdirSync(folder)) {
    const body = readFileSync(join(folder, name));
    for (const type of [
      'image/jpeg',
      'image/png',
      'application/octet-stream',
      'text/plain',
      'application/json',
    ]) {
      const answer = await client.post('/v1/models/efficientnet/predict', body, { 'content-type': type });
      expect(answer.status, `${name} as ${type}: ${answer.error ?? answer.body}`).toBeGreaterThanOrEqual(200);
      expect(answer.status, `${name} as ${type}: ${answer.body}`).toBeLessThan(500);
    }
  }
  client.close();
});

it('decompression bombs are stopped at the limit', async () => {
  const client = new TestClient(server.http, 1);
  const bomb = gzipSync(Buffer.alloc(400 * MIB, 0x20));
  const before = treeUsage(server.pid);
  const answer = await client.post('/v2/models/add-sub/infer', bomb, { 'content-encoding': 'gzip' });
  expect(answer.status).toBe(413);
  const after = treeUsage(server.pid);
  if (before && after) expect(after.pssBytes).toBeLessThan(before.pssBytes + 160 * MIB);
  client.close();
});

it('random bytes on the socket are refused and never hang the connection', async () => {
  const random = new SeededRandom(SEED + 1);
  for (let shot = 0; shot < 200; shot += 1) {
    const bytes = Buffer.from(
      Array.from({ length: randomInteger(random, { low: 1, high: 400 }) }, () =>
        randomInteger(random, { low: 0, high: 255 }),
      ),
    );
    await new Promise<void>((resolve) => {
      const socket = connect(server.port, '127.0.0.1', () => socket.end(bytes));
      socket.on('error', () => {});
      socket.on('close', () => resolve());
      socket.resume();
    });
  }
  expect((await fetch(`${server.http}/livez`)).status).toBe(200);
});

function fire(client: TestClient, shot: Shot) {
  return client.post(shot.path, shot.body, shot.headers);
}

/** A valid request of some kind, then broken somehow. */
function makeShot(random: SeededRandom): Shot {
  const base = pick(random, [digitsNative, addSubJson, addSubBinary, stringBinary])(random);
  return pick(random, MUTATIONS)(random, base);
}

function digitsNative(random: SeededRandom): Shot {
  const input = Array.from({ length: 64 }, () => randomInteger(random, { low: 0, high: 16 }));
  return json('/v1/models/digits-mlp/predict', { input, parameters: { top_k: 3 } });
}

function addSubJson(random: SeededRandom): Shot {
  const rows = randomInteger(random, { low: 1, high: 3 });
  const input = (name: string) => ({
    name,
    shape: [rows, 16],
    datatype: 'INT32',
    data: Array(rows * 16).fill(7),
  });
  return json('/v2/models/add-sub/infer', { id: 'x', inputs: [input('INPUT0'), input('INPUT1')] });
}

function addSubBinary(random: SeededRandom): Shot {
  const rows = randomInteger(random, { low: 1, high: 3 });
  const input = (name: string) => ({
    name,
    shape: [rows, 16],
    datatype: 'INT32',
    parameters: { binary_data_size: rows * 64 },
  });
  return binary(
    '/v2/models/add-sub/infer',
    { inputs: [input('INPUT0'), input('INPUT1')] },
    Buffer.alloc(rows * 128, 1),
  );
}

function stringBinary(): Shot {
  const payload = Buffer.from('\x03\x00\x00\x00abc\x00\x00\x00\x00', 'latin1');
  const input = {
    name: 'INPUT0',
    shape: [1, 2],
    datatype: 'BYTES',
    parameters: { binary_data_size: payload.length },
  };
  return binary('/v2/models/string-echo/infer', { inputs: [input] }, payload);
}

const MUTATIONS: readonly ((random: SeededRandom, shot: Shot) => Shot)[] = [
  (random, shot) => ({
    ...shot,
    body: shot.body.subarray(0, randomInteger(random, { low: 0, high: shot.body.length })),
  }),
  (random, shot) => flipBytes(random, shot, 1),
  (random, shot) => flipBytes(random, shot, 12),
  (random, shot) => ({ ...shot, body: Buffer.concat([shot.body, randomBytes(random, 40)]) }),
  (random, shot) =>
    replaceText(random, shot, [
      '16',
      '-1',
      '1e999',
      '99999999999999999999',
      'NaN',
      'null',
      '[]',
      '0.5',
      '"16"',
      '4294967296',
    ]),
  (random, shot) => replaceText(random, shot, ['{', '[', '"', ',', ':', '\\u12', '\u0000', '𝄞']),
  (_, shot) => ({ ...shot, body: Buffer.from(`${'['.repeat(5000)}1${']'.repeat(5000)}`) }),
  (_, shot) => ({ ...shot, body: Buffer.from(`{"input":${'{"a":'.repeat(3000)}1${'}'.repeat(3000)}}`) }),
  (random, shot) => ({ ...shot, body: randomBytes(random, 300) }),
  (random, shot) =>
    header(
      shot,
      'inference-header-content-length',
      pick(random, ['-1', '99999999', 'x', '1', '0', '18446744073709551616', ' ', '12,12']),
    ),
  (random, shot) =>
    header(
      shot,
      'content-type',
      pick(random, [
        'image/jpeg',
        'text/plain',
        'application/x-unknown',
        ';;;',
        'multipart/form-data',
        'multipart/form-data; boundary=x',
      ]),
    ),
  (random, shot) =>
    header(shot, 'content-encoding', pick(random, ['gzip', 'deflate', 'br', 'identity', 'gzip, gzip'])),
  (random, shot) =>
    header(shot, 'inference-timeout-ms', pick(random, ['-5', 'abc', '1e400', '99999999999999'])),
  (random, shot) => ({
    ...shot,
    path: pick(random, [
      '/v2/models/%ff/infer',
      '/v1/models//predict',
      '/v2/models/add-sub/versions/999999999999/infer',
      '/v1/models/nope/predict',
      `/v1/models/${'a'.repeat(3000)}/predict`,
    ]),
  }),
];

function json(path: string, body: unknown): Shot {
  return { path, body: Buffer.from(JSON.stringify(body)), headers: { 'content-type': 'application/json' } };
}

function binary(path: string, head: unknown, payload: Buffer): Shot {
  const text = Buffer.from(JSON.stringify(head));
  return {
    path,
    body: Buffer.concat([text, payload]),
    headers: {
      'content-type': 'application/octet-stream',
      'inference-header-content-length': String(text.length),
    },
  };
}

function header(shot: Shot, name: string, value: string): Shot {
  return { ...shot, headers: { ...shot.headers, [name]: value } };
}

function flipBytes(random: SeededRandom, shot: Shot, count: number): Shot {
  const body = Buffer.from(shot.body);
  for (let flip = 0; flip < count && body.length > 0; flip += 1) {
    body[randomInteger(random, { low: 0, high: body.length - 1 })] = randomInteger(random, {
      low: 0,
      high: 255,
    });
  }
  return { ...shot, body };
}

/** Puts an odd token where some token of the JSON text was. */
function replaceText(random: SeededRandom, shot: Shot, tokens: readonly string[]): Shot {
  const text = Buffer.from(shot.body).toString('latin1');
  const at = randomInteger(random, { low: 0, high: Math.max(0, text.length - 1) });
  const end = at + randomInteger(random, { low: 0, high: 4 });
  return {
    ...shot,
    body: Buffer.concat([
      Buffer.from(text.slice(0, at), 'latin1'),
      Buffer.from(pick(random, tokens)),
      Buffer.from(text.slice(end), 'latin1'),
    ]),
  };
}

function randomBytes(random: SeededRandom, count: number): Buffer {
  return Buffer.from(Array.from({ length: count }, () => randomInteger(random, { low: 0, high: 255 })));
}

function pick<Value>(random: SeededRandom, values: readonly Value[]): Value {
  return values[randomInteger(random, { low: 0, high: values.length - 1 })] as Value;
}
