import { describe, expect, it } from 'vitest';
import { createTaskAdapter } from './create.ts';
import { aSignature, aTensor, aVersion } from './testing/a-version.ts';
import { repositoryPath } from './testing/golden.ts';

const TEXT = {
  tokenizer: 'tokenizer.json',
  maxTokens: 16,
  padId: 0,
  pooling: 'auto',
  normalise: false,
} as const;

function aTask(labels: readonly string[] | undefined) {
  const spec = aVersion({
    task: 'text-classification',
    folder: repositoryPath('examples/models/minilm/1'),
    signature: aSignature({
      inputs: [aTensor('input_ids', 'INT32', [-1, -1]), aTensor('position_ids', 'INT64', [-1, -1])],
      outputs: [aTensor('logits', 'FP32', [-1, 2])],
    }),
    text: TEXT,
    labels,
  });
  return createTaskAdapter(spec, { name: 'only', file: '', qualityRatio: undefined, image: undefined });
}

const logits = { bytes: new Uint8Array(Float32Array.of(0, Math.log(3)).buffer), shape: [1, 2] };

describe('text classification', () => {
  it('lays out just the inputs that the model has, in their own datatypes', async () => {
    const { tensors } = await (await aTask(undefined)).prepare(Buffer.from('hello'));
    expect(tensors.map((tensor) => tensor.shape)).toEqual([
      [1, 3],
      [1, 3],
    ]);
    expect([
      ...new Int32Array(tensors[0]?.bytes.buffer as ArrayBuffer, tensors[0]?.bytes.byteOffset, 3),
    ]).toEqual([101, 7592, 102]);
    expect([
      ...new BigInt64Array(tensors[1]?.bytes.buffer as ArrayBuffer, tensors[1]?.bytes.byteOffset, 3),
    ]).toEqual([0n, 1n, 2n]);
  });

  it('answers with labels and softmax confidences, the most confident first', async () => {
    const answer = (await aTask(['bad', 'good'])).answer([logits], 1, { topK: 5, threshold: 0 }, undefined);
    expect(Buffer.from(answer).toString()).toBe(
      '"predictions":[{"class_id":1,"label":"good","confidence":0.75},{"class_id":0,"label":"bad","confidence":0.25}]',
    );
  });

  it('numbers the classes when the labels are of another number', async () => {
    const answer = (await aTask(['only one'])).answer([logits], 1, { topK: 1, threshold: 0 }, undefined);
    expect(Buffer.from(answer).toString()).toBe(
      '"predictions":[{"class_id":1,"label":"1","confidence":0.75}]',
    );
  });

  it('says which file is wrong when the tokenizer cannot be read', async () => {
    const spec = aVersion({ task: 'text-classification', text: { ...TEXT, tokenizer: 'missing.json' } });
    await expect(
      createTaskAdapter(spec, { name: 'only', file: '', qualityRatio: undefined, image: undefined }),
    ).rejects.toThrow('Cannot load the model: the tokenizer "missing.json" can\'t be read');
  });
});
