import { describe, expect, it } from 'vitest';
import { FACES_IMAGE } from './testing/a-version.ts';
import { repositoryPath } from './testing/golden.ts';
import { openSample } from './testing/sample-session.ts';
import { warmupInputs } from './warmup-inputs.ts';

const MODELS = [
  'examples/models/efficientnet/1/lite0-int8.onnx',
  'examples/models/minilm/1/model.onnx',
  'examples/models/digits/1/model.onnx',
  'examples/models/add-sub/1/model.onnx',
  'tests/fixtures/models/bad-shape/1/model.onnx',
  'tests/fixtures/models/poison-gather/1/model.onnx',
  'tests/fixtures/models/memory-hog/1/model.onnx',
  'tests/fixtures/models/sequence-slow/1/model.onnx',
  'tests/fixtures/models/identity-fp32/1/model.onnx',
];

describe('warm-up inputs', () => {
  it.each(MODELS)('run through %s, alone and as a batch', async (file) => {
    const session = await openSample(repositoryPath(file));
    for (const rows of [1, 3]) {
      const inputs = warmupInputs(session.signature, rows);
      expect(inputs.map((input) => input.shape[0])).toEqual(inputs.map(() => rows));
      const outputs = await session.run(inputs);
      expect(outputs[0]?.shape[0]).toBe(rows);
    }
    await session.close();
  });

  it('give a detector a picture of a size that it takes', async () => {
    const session = await openSample(repositoryPath('examples/models/faces/1/model.onnx'));
    const inputs = warmupInputs(session.signature, 1, FACES_IMAGE);
    expect(inputs[0]?.shape).toEqual([1, 3, 320, 320]);
    expect((await session.run(inputs)).length).toBe(4);
    await session.close();
  });

  it('frame BYTES elements and mark every token as real', () => {
    const [text, mask] = warmupInputs(
      {
        inputs: [
          { name: 'text', datatype: 'BYTES', shape: [-1, 2], axisNames: [null, null] },
          { name: 'attention_mask', datatype: 'INT64', shape: [-1, -1], axisNames: ['batch', 'sequence'] },
        ],
        outputs: [],
        batchAxis: 'dynamic',
      },
      2,
    );
    expect(text?.shape).toEqual([2, 2]);
    expect(text?.bytes.length).toBe(4 * (4 + 'warm-up'.length));
    expect(mask?.shape).toEqual([2, 16]);
    const values = new BigInt64Array(mask?.bytes.buffer as ArrayBuffer, mask?.bytes.byteOffset, 32);
    expect(new Set(values)).toEqual(new Set([1n]));
  });
});
