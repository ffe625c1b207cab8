import type { PartReport } from '@gimbal/core';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { type PartInput, PoolHarness, type PoolHarnessOptions } from './testing/pool-harness.ts';
import { type SampleModel, type SampleParts, sampleVersion } from './testing/sample-version.ts';
import { asFloat32, asInt32, asInt64, float32, int32, int64, strings } from './testing/tensor-bytes.ts';

/** Pools that tests share: a process takes far longer to start than to answer. */
const pools = new Map<string, PoolHarness>();

async function open(
  model: SampleModel,
  parts: SampleParts = {},
  options: PoolHarnessOptions = {},
): Promise<{ harness: PoolHarness; id: string }> {
  const key = JSON.stringify([model, parts, { kind: 'shared', ...options }]);
  const harness = pools.get(key) ?? new PoolHarness(sampleVersion(model, parts), options);
  pools.set(key, harness);
  return { harness, id: await harness.runner() };
}

afterEach(() => {
  for (const harness of pools.values()) expect(harness.arena.used).toBe(0);
});

afterAll(async () => {
  await Promise.all([...pools.values()].map((harness) => harness.stop()));
});

function outputs(part: PartReport | undefined): readonly Uint8Array[] {
  if (!part?.ok || part.output.kind !== 'tensors') throw new Error(`no tensors: ${JSON.stringify(part)}`);
  return part.output.outputs.map(({ bytes }) => bytes);
}

function output(part: PartReport | undefined, index = 0): Uint8Array {
  const bytes = outputs(part)[index];
  if (!bytes) throw new Error('no such output');
  return bytes;
}

function json(part: PartReport | undefined): unknown {
  if (!part?.ok || part.output.kind !== 'answer') throw new Error(`no answer: ${JSON.stringify(part)}`);
  return JSON.parse(`{${Buffer.from(part.output.json).toString('utf8')}}`);
}

/** One row for each datatype, with the values that are easily spoiled on the way. */
function allTypes(rows: number, seed: number): PartInput {
  const length = 3;
  const count = rows * length;
  const raw = (size: number) =>
    Uint8Array.from({ length: count * size }, (_, index) => (index * 37 + seed * 11) & 255);
  const floats = Float32Array.from(
    { length: count },
    (_, index) => [Number.NaN, -0, seed + 0.1][index % 3] as number,
  );
  const halves = Uint16Array.from(
    { length: count },
    (_, index) => [0x7e00, 0xfc00, 0x3c00 + seed][index % 3] as number,
  );
  const texts = Array.from(
    { length: count },
    (_, index) => ['', 'héé 😀', `row ${seed}`][index % 3] as string,
  );
  const tensors = [
    Uint8Array.from({ length: count }, (_, index) => (index + seed) & 1),
    raw(1),
    raw(1),
    raw(2),
    raw(2),
    raw(4),
    raw(4),
    raw(8),
    raw(8),
    new Uint8Array(halves.buffer),
    new Uint8Array(floats.buffer),
    new Uint8Array(Float64Array.from(floats).buffer),
    strings(...texts),
  ];
  return { tensors: tensors.map((bytes) => ({ bytes, shape: [rows, length] })) };
}

describe.each(['shared', 'heap'] as const)('Batches over a %s arena', (kind) => {
  test('bring every datatype back byte by byte, alone and with neighbours', async () => {
    const { harness, id } = await open('all-types', {}, { kind });
    const parts = [allTypes(1, 1), allTypes(2, 2), allTypes(1, 3)];
    const [alone] = await harness.results(id, [parts[0] as PartInput]);
    expect(outputs(alone).map((bytes) => [...bytes])).toEqual(
      parts[0]?.tensors?.map(({ bytes }) => [...bytes]),
    );
    const together = await harness.results(id, parts);
    for (const [index, part] of parts.entries()) {
      const got = outputs(together[index]).map((bytes) => [...bytes]);
      expect(got).toEqual(part.tensors?.map(({ bytes }) => [...bytes]));
    }
  });

  test('give each part its own rows', async () => {
    const { harness, id } = await open('add-sub', {}, { kind });
    const row = (value: number) => int32(...Array.from({ length: 16 }, () => value));
    const parts = [1, 2, 3, 4].map((value) => ({
      tensors: [
        { bytes: row(value * 10), shape: [1, 16] },
        { bytes: row(value), shape: [1, 16] },
      ],
    }));
    const results = await harness.results(id, parts);
    expect(results.map((part) => asInt32(output(part, 0))[15])).toEqual([11, 22, 33, 44]);
    expect(results.map((part) => asInt32(output(part, 1))[0])).toEqual([9, 18, 27, 36]);
  });

  test('run the rows that a part is cut to', async () => {
    const { harness, id } = await open('poison-gather', {}, { kind });
    const tensors = [{ bytes: int64(0, 1, 2, 3, 4), shape: [5, 1] }];
    const results = await harness.results(id, [
      { tensors, sliced: true, firstRow: 3, rows: 2 },
      { tensors, sliced: true, firstRow: 0, rows: 1 },
    ]);
    expect(results.map((part) => asFloat32(output(part)))).toEqual([[30, 40], [0]]);
  });

  test('cut rows of strings', async () => {
    const { harness, id } = await open('string-echo', {}, { kind });
    const tensors = [{ bytes: strings('a', 'bb', 'ccc', ''), shape: [4, 1] }];
    const [part] = await harness.results(id, [{ tensors, sliced: true, firstRow: 1, rows: 2 }]);
    expect([...output(part)]).toEqual([...strings('bb', 'ccc')]);
  });

  test('fail only the item that the model refuses, and say why', async () => {
    const { harness, id } = await open('poison-gather', {}, { kind });
    const parts = [1, 2, 9999, 3, -3, 10].map((index) => ({
      tensors: [{ bytes: int64(index), shape: [1, 1] }],
    }));
    const results = await harness.results(id, parts);
    expect(results.map((part) => part.ok)).toEqual([true, true, false, true, true, false]);
    expect(asFloat32(output(results[4]))).toEqual([70]);
    expect(results[2]).toMatchObject({
      code: 'INVALID_INPUT',
      message:
        'Cannot run the model on this input: operator Gather: indices element out of data bounds, idx=9999 must be within the inclusive range [-10,9]',
    });
  });

  test('carry outputs that are larger than any memory that was lent', async () => {
    const { harness, id } = await open('identity-fp32', {}, { kind });
    const small = { tensors: [{ bytes: float32(1, 2), shape: [1, 2] }] };
    await harness.results(id, [small]);
    const values = Float32Array.from({ length: 1_000_000 }, (_, index) => index);
    const large = { tensors: [{ bytes: new Uint8Array(values.buffer), shape: [1, values.length] }] };
    for (let round = 0; round < 2; round += 1) {
      const [first, second] = await harness.results(id, [large, small]);
      expect(Buffer.from(output(first)).equals(Buffer.from(values.buffer))).toBe(true);
      expect(asFloat32(output(second))).toEqual([1, 2]);
    }
  });

  test('keep outputs in place until the report is released, while later batches run', async () => {
    const { harness, id } = await open('identity-fp32', {}, { kind });
    const batchOf = (value: number) => [
      { tensors: [{ bytes: new Uint8Array(new Float32Array(5000).fill(value).buffer), shape: [1, 5000] }] },
    ];
    await harness.results(id, batchOf(0));
    const first = harness.run(id, batchOf(1));
    const report = await harness.report(first);
    const second = harness.run(id, batchOf(2));
    await harness.report(second);
    expect(new Set(asFloat32(output(report.parts[0])))).toEqual(new Set([1]));
    harness.release(first);
    harness.release(second);
  });
});

test('A batch that lies side by side in memory gives the same answers as a scattered one', async () => {
  const { harness, id } = await open('digits-mlp');
  const rows = Array.from({ length: 8 }, (_, row) =>
    Float32Array.from({ length: 64 }, (_, pixel) => (row * 31 + pixel * 7) % 17),
  );
  const parts = rows.map((row) => ({ tensors: [{ bytes: new Uint8Array(row.buffer), shape: [1, 64] }] }));
  const contiguous = await harness.results(id, parts);
  const scattered = await harness.results(id, parts, { spacing: 64 });
  expect(scattered.map(outputs)).toEqual(contiguous.map(outputs));
});

test('Parts of different shapes in one batch are run apart', async () => {
  const { harness, id } = await open('identity-fp32');
  const results = await harness.results(id, [
    { tensors: [{ bytes: float32(1, 2), shape: [1, 2] }] },
    { tensors: [{ bytes: float32(3, 4, 5), shape: [1, 3] }] },
    { tensors: [{ bytes: float32(6, 7, 8, 9), shape: [2, 2] }] },
  ]);
  expect(results.map((part) => asFloat32(output(part)))).toEqual([
    [1, 2],
    [3, 4, 5],
    [6, 7, 8, 9],
  ]);
});

test('Strings that are no UTF-8, or that the runtime would cut off, fail alone', async () => {
  const { harness, id } = await open('string-echo');
  const part = (bytes: Uint8Array) => ({ tensors: [{ bytes, shape: [1, 1] }] });
  const results = await harness.results(id, [
    part(strings('good')),
    part(strings(new Uint8Array([0xff, 0xfe]))),
    part(strings('zero\0byte')),
    part(new Uint8Array([9, 0, 0, 0, 65])),
    part(strings('also good')),
  ]);
  expect(results.map((result) => (result.ok ? 'ok' : result.code))).toEqual([
    'ok',
    'INVALID_INPUT',
    'INVALID_INPUT',
    'INVALID_INPUT',
    'ok',
  ]);
  expect(results[1]).toMatchObject({
    message: 'Cannot read the input "INPUT0": element 0 is the bytes fffe, expected UTF-8',
    fields: [{ pointer: '/inputs/INPUT0' }],
  });
});

test('A shape that only the model knows to be wrong fails alone, without paths in the message', async () => {
  const { harness, id } = await open('bad-shape');
  const [good, bad] = await harness.results(id, [
    { tensors: [{ bytes: new Uint8Array(16), shape: [1, 4] }] },
    { tensors: [{ bytes: new Uint8Array(20), shape: [1, 5] }] },
  ]);
  expect(good?.ok).toBe(true);
  expect(bad).toMatchObject({ ok: false, code: 'INVALID_INPUT' });
  expect(bad?.ok === false && bad.message).not.toMatch(/\/|\.cc|\.h:/);
});

test('NaN and Infinity fail an answer, alone, and pass where tensors are wanted or the version allows them', async () => {
  const { harness, id } = await open('nan-maker');
  const part = (value: number, want: 'tensors' | 'answer') =>
    ({ tensors: [{ bytes: float32(1, value), shape: [1, 2] }], want }) as const;
  const results = await harness.results(id, [
    part(2, 'answer'),
    part(1001, 'answer'),
    part(1002, 'answer'),
    part(1001, 'tensors'),
  ]);
  expect(results.map((result) => (result.ok ? 'ok' : result.code))).toEqual([
    'ok',
    'OUTPUT_INVALID',
    'OUTPUT_INVALID',
    'ok',
  ]);
  expect(json(results[0])).toHaveProperty('outputs');
  expect(asFloat32(output(results[3]))).toEqual([1, Number.NaN]);
});

test('Allocations that fail are told as out of memory, and the runner lives on', async () => {
  const { harness, id } = await open('memory-hog');
  const [hog] = await harness.results(id, [{ tensors: [{ bytes: int64(1_000_000_000), shape: [1, 1] }] }]);
  expect(hog).toMatchObject({ ok: false, code: 'OUT_OF_MEMORY' });
  const [modest] = await harness.results(id, [{ tensors: [{ bytes: int64(1), shape: [1, 1] }] }]);
  expect(asInt64(output(modest))).toEqual([1_048_576n]);
});

test('Encoded input to a model that takes tensors only is refused, its neighbours are answered', async () => {
  const { harness, id } = await open('digits-mlp');
  const [bad, good] = await harness.results(id, [
    { encoded: Buffer.from('a text'), want: 'answer' },
    { tensors: [{ bytes: new Uint8Array(256), shape: [1, 64] }], want: 'answer' },
  ]);
  expect(bad).toMatchObject({ ok: false, code: 'UNSUPPORTED' });
  expect(json(good)).toHaveProperty('outputs');
});

test('Tensors that do not fit the signature reach neither the model nor their neighbours', async () => {
  const { harness, id } = await open('add-sub');
  const sixteen = { bytes: new Uint8Array(64), shape: [1, 16] };
  const results = await harness.results(id, [
    { tensors: [sixteen, { bytes: new Uint8Array(60), shape: [1, 15] }] },
    { tensors: [sixteen] },
    { tensors: [sixteen, { bytes: new Uint8Array(60), shape: [1, 16] }] },
    { tensors: [sixteen, sixteen] },
  ]);
  expect(results.map((result) => (result.ok ? 'ok' : result.code))).toEqual([
    'INVALID_INPUT',
    'INVALID_INPUT',
    'INVALID_INPUT',
    'ok',
  ]);
});

test('No rows are answered with no rows', async () => {
  const { harness, id } = await open('add-sub');
  const none = { bytes: new Uint8Array(0), shape: [0, 16] };
  const [part] = await harness.results(id, [{ tensors: [none, none], rows: 0 }]);
  expect(part).toMatchObject({
    ok: true,
    output: { rows: 0, outputs: [{ shape: [0, 16] }, { shape: [0, 16] }] },
  });
});

test('A version that is declared not to batch runs each part alone', async () => {
  const { harness, id } = await open('identity-fp32', {
    signature: { ...sampleVersion('identity-fp32').signature, batchAxis: 'none' },
  });
  expect(harness.ready[0]?.ready.signature.batchAxis).toBe('none');
  const results = await harness.results(id, [
    { tensors: [{ bytes: float32(1, 2), shape: [2, 1] }], rows: 1 },
    { tensors: [{ bytes: float32(3, 4), shape: [2, 1] }], rows: 1 },
  ]);
  expect(results.map((part) => asFloat32(output(part)))).toEqual([
    [1, 2],
    [3, 4],
  ]);
});

test('Outputs travel in the report when the arena is full', async () => {
  const { harness, id } = await open('digits-mlp', {}, { arenaBytes: 128 * 1024 });
  const rows = 200;
  const tensors = [{ bytes: new Uint8Array(rows * 256), shape: [rows, 64] }];
  const filler = harness.arena.allocate(128 * 1024 - rows * 256);
  const [part] = await harness.results(id, [{ tensors, rows }]);
  expect(output(part, 1).length).toBe(rows * 40);
  if (filler) harness.arena.free(filler);
});
