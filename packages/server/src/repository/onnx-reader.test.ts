import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isGimbalError } from '@gimbal/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MAX_IR_VERSION, MAX_OPSET, readOnnxModel } from './onnx-reader.ts';
import {
  buildModel,
  bytesField,
  externalInitializer,
  graphAttribute,
  initializer,
  integerField,
  node,
  sequenceInfo,
  valueInfo,
} from './testing/onnx-builder.ts';
import {
  BROKEN_MODELS,
  EXAMPLE_MODELS,
  FIXTURE_MODELS,
  TemporaryFolder,
} from './testing/temporary-folder.ts';

let folder: TemporaryFolder;

beforeEach(() => {
  folder = new TemporaryFolder();
});

afterEach(() => folder.remove());

async function refusal(bytes: Uint8Array): Promise<string> {
  const path = folder.write('model.onnx', bytes);
  const error = await readOnnxModel(path).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!isGimbalError(error)) throw new Error(`not refused: ${String(error)}`);
  expect(error.code).toBe('MODEL_UNAVAILABLE');
  expect(error.message).not.toContain(folder.path);
  expect(error.fields[0]?.pointer).toBe('model.onnx');
  return error.message;
}

const read = (bytes: Uint8Array) => readOnnxModel(folder.write('model.onnx', bytes));

describe('a model file as its exporter wrote it', () => {
  it('is described with names, datatypes, shapes and axis names', async () => {
    const model = await readOnnxModel(join(FIXTURE_MODELS, 'digits-mlp', '1', 'model.onnx'));
    expect(model.inputs).toEqual([
      { name: 'pixels', datatype: 'FP32', shape: [-1, 64], axisNames: ['batch', null] },
    ]);
    expect(model.outputs).toEqual([
      { name: 'label', datatype: 'INT64', shape: [-1], axisNames: ['batch'] },
      { name: 'probabilities', datatype: 'FP32', shape: [-1, 10], axisNames: ['batch', null] },
    ]);
    expect(model.irVersion).toBe(8);
    expect(model.operatorSets).toContainEqual({ domain: '', version: 17 });
    expect(model.producer.name).toBe('skl2onnx');
    expect(model.byteLength).toBe(21_019);
  });

  it('of every datatype that the runtime exchanges is read', async () => {
    const model = await readOnnxModel(join(FIXTURE_MODELS, 'all-types', '1', 'model.onnx'));
    expect(model.inputs.map(({ datatype }) => datatype).sort()).toEqual([
      'BOOL',
      'BYTES',
      'FP16',
      'FP32',
      'FP64',
      'INT16',
      'INT32',
      'INT64',
      'INT8',
      'UINT16',
      'UINT32',
      'UINT64',
      'UINT8',
    ]);
  });

  it('counts operators of subgraphs too', async () => {
    const model = await readOnnxModel(join(FIXTURE_MODELS, 'sequence-slow', '1', 'model.onnx'));
    expect(model.operators.find(({ name }) => name === 'Loop')?.count).toBe(1);
    expect(model.operators.find(({ name }) => name === 'MatMul')?.count).toBe(1);
    expect(model.operatorTotal).toBe(model.operators.reduce((sum, { count }) => sum + count, 0));
  });

  it('of 12 MB is read without its weights', async () => {
    const model = await readOnnxModel(join(EXAMPLE_MODELS, 'efficientnet', '1', 'lite2.onnx'));
    expect(model.inputs[0]?.shape).toEqual([-1, 3, 260, 260]);
    expect(model.initializers.count).toBe(132);
    expect(model.initializers.byteLength).toBeGreaterThan(12_000_000);
  });
});

describe('inputs', () => {
  it('that have an initializer are no inputs', async () => {
    const model = await read(
      buildModel({
        inputs: [
          { name: 'x', axes: ['n', 4] },
          { name: 'weight', axes: [4] },
        ],
        initializers: [initializer('weight')],
      }),
    );
    expect(model.inputs.map(({ name }) => name)).toEqual(['x']);
  });

  it('without a shape are named as of unknown rank, scalars are not', async () => {
    const model = await read(buildModel({ inputs: [{ name: 'x' }, { name: 's', axes: [] }] }));
    expect(model.inputs.map(({ shape }) => shape)).toEqual([[], []]);
    expect(model.unknownRanks).toEqual(['x']);
  });

  it('with a negative or unnamed axis have a free one', async () => {
    const model = await read(buildModel({ inputs: [{ name: 'x', axes: [-1, null, 3] }] }));
    expect(model.inputs[0]).toMatchObject({ shape: [-1, -1, 3], axisNames: [null, null, null] });
  });
});

describe('every broken sample', () => {
  const EXPECTED: Readonly<Record<string, RegExp>> = {
    'bfloat16.onnx': /input "X" is bfloat16.*Cast/,
    'empty.onnx': /the file is empty.*got 0 bytes/,
    'external-data-escape.onnx': /outside its folder.*\.\.\//,
    'external-data-missing.onnx': /"missing\.bin".*copy/,
    'not-a-model.onnx': /not an ONNX model.*export/,
    'opset-999.onnx': /expected opset \d+ or older, got opset 999/,
    'truncated.onnx': /truncated, expected at least 20997 bytes, got 9000 bytes/,
  };

  it.each(Object.entries(EXPECTED))(
    '%s is refused with what, expected, got and fix',
    async (file, reason) => {
      await expect(readOnnxModel(join(BROKEN_MODELS, file))).rejects.toMatchObject({
        code: 'MODEL_UNAVAILABLE',
        message: expect.stringMatching(reason),
      });
    },
  );

  it('with an operator that only the runtime can know passes', async () => {
    const model = await readOnnxModel(join(BROKEN_MODELS, 'unknown-operator.onnx'));
    expect(model.operators[0]?.domain).toBe('com.example');
  });

  it('is one of these', () => {
    expect(readdirSync(BROKEN_MODELS).sort()).toEqual(
      [...Object.keys(EXPECTED), 'unknown-operator.onnx'].sort(),
    );
  });
});

describe('a refusal', () => {
  it('names the limit of the operator set', async () => {
    expect(await refusal(buildModel({ opset: MAX_OPSET + 1 }))).toMatch(/opset 26 or older, got opset 27/);
    await expect(read(buildModel({ opset: MAX_OPSET }))).resolves.toBeDefined();
  });

  it('names the limit of the format', async () => {
    expect(await refusal(buildModel({ irVersion: MAX_IR_VERSION + 1 }))).toMatch(
      /IR version 1 to 13, got IR version 14/,
    );
  });

  it('tells scikit-learn users of ZipMap', async () => {
    const graph = Buffer.concat([
      bytesField(11, valueInfo({ name: 'x', axes: [1] })),
      bytesField(12, sequenceInfo('p')),
    ]);
    const bytes = Buffer.concat([integerField(1, 8), bytesField(7, graph)]);
    expect(await refusal(bytes)).toMatch(/output "p" is a sequence.*zipmap/);
  });

  it.each([
    ['version https://git-lfs.github.com/spec/v1\noid sha256:abc', /git lfs pull/],
    ['<!DOCTYPE html><html>not found</html>', /the download failed/],
    ['PK\u0003\u0004 archive/data.pkl', /torch\.onnx\.export/],
  ])('recognises %j', async (content, reason) => {
    expect(await refusal(Buffer.from(content, 'latin1'))).toMatch(reason);
  });

  it('is given to a file without a graph and to one without inputs', async () => {
    expect(await refusal(integerField(1, 8))).toMatch(/it has no graph/);
    expect(await refusal(buildModel({ inputs: [] }))).toMatch(/the graph has no inputs/);
  });

  it('is given to a folder and to a missing file', async () => {
    await expect(readOnnxModel(folder.path)).rejects.toMatchObject({
      message: expect.stringContaining('no file'),
    });
    await expect(readOnnxModel(join(folder.path, 'none.onnx'))).rejects.toMatchObject({
      message: expect.stringContaining('there is no such file'),
    });
  });

  it('bounds the nesting of graphs', async () => {
    let graph = bytesField(2, 'innermost');
    for (let depth = 0; depth < 40; depth += 1) {
      graph = bytesField(1, node('Loop', { attributes: [graphAttribute(graph)] }));
    }
    const bytes = Buffer.concat([integerField(1, 8), bytesField(7, graph)]);
    expect(await refusal(bytes)).toMatch(/nested more than 16 deep/);
  });
});

describe('external data', () => {
  const model = (entries: Record<string, string>) =>
    buildModel({ initializers: [externalInitializer('w', entries)] });

  it('beside the model is found with its length', async () => {
    folder.write('model.onnx.data', Buffer.alloc(64));
    const found = await read(model({ location: 'model.onnx.data', offset: '32', length: '32' }));
    expect(found.externalFiles).toEqual([
      { location: 'model.onnx.data', path: join(folder.path, 'model.onnx.data'), byteLength: 64 },
    ]);
  });

  it('that is shorter than the model needs is refused', async () => {
    folder.write('w.bin', Buffer.alloc(63));
    expect(await refusal(model({ location: 'w.bin', offset: '32', length: '32' }))).toMatch(
      /at least 64 bytes, got 63/,
    );
  });

  it.each(['../w.bin', '/etc/passwd', 'a/../../w.bin', '..\\w.bin', 'C:\\w.bin'])(
    'at %j is refused',
    async (location) => {
      expect(await refusal(model({ location }))).toMatch(/outside its folder/);
    },
  );

  it('behind a link that leads out is refused', async () => {
    folder.link('w.bin', '/etc/hostname');
    expect(await refusal(model({ location: 'w.bin' }))).toMatch(/outside its folder/);
  });

  it('with an impossible length is refused', async () => {
    expect(await refusal(model({ location: 'w.bin', length: '-5' }))).toMatch(/"-5"/);
  });
});
