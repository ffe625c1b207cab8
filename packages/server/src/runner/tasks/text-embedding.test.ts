import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTaskAdapter } from './create.ts';
import type { PreparedInput, TaskAdapter } from './task.ts';
import { aSignature, aTensor, aVersion } from './testing/a-version.ts';
import { type GoldenText, readGolden, repositoryPath } from './testing/golden.ts';
import { openSample, type SampleSession } from './testing/sample-session.ts';

const FOLDER = repositoryPath('examples/models/minilm/1');
const FILE = `${FOLDER}/model.onnx`;
const MODEL = 'all-minilm-l6-v2';
const TEXT = {
  tokenizer: 'tokenizer.json',
  maxTokens: 256,
  padId: 0,
  pooling: 'auto',
  normalise: true,
} as const;
const PARAMETERS = { topK: 5, threshold: 0 };
const golden = readGolden().embeddings;
/** The golden file writes the long text once. */
const longText = golden.strings.find((string) => string.name === 'long_truncated_256')?.text ?? '';

let session: SampleSession;

beforeAll(async () => {
  session = await openSample(FILE);
});

afterAll(() => session.close());

/** Reading the tokenizer takes longer than most tests: one task for each length. */
const tasks = new Map<number, Promise<TaskAdapter>>();

function aTask(maxTokens = 256): Promise<TaskAdapter> {
  const task = tasks.get(maxTokens) ?? createTask(maxTokens);
  tasks.set(maxTokens, task);
  return task;
}

function createTask(maxTokens: number): Promise<TaskAdapter> {
  const text = { ...TEXT, maxTokens };
  const spec = aVersion({ task: 'text-embedding', folder: FOLDER, signature: session.signature, text });
  return createTaskAdapter(spec, { name: 'fp32', file: FILE, qualityRatio: undefined, image: undefined });
}

function idsOf(prepared: PreparedInput): number[] {
  const bytes = prepared.tensors[0]?.bytes ?? new Uint8Array(0);
  return [...new BigInt64Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength / 8)].map(
    Number,
  );
}

async function embedTogether(task: TaskAdapter, texts: readonly string[]): Promise<readonly number[][]> {
  const prepared = await Promise.all(texts.map((text) => task.prepare(Buffer.from(text))));
  const outputs = await session.run(task.collate?.(prepared) ?? []);
  return texts.map((_, row) => {
    const width = 384 * 4;
    const own = outputs.map((output) => ({
      bytes: output.bytes.subarray(row * width, (row + 1) * width),
      shape: [1, 384],
    }));
    const json = Buffer.from(task.answer(own, 1, PARAMETERS, prepared[row])).toString();
    return (JSON.parse(`{${json}}`) as { embedding: number[] }).embedding;
  });
}

function cosine(left: readonly number[], right: readonly number[]): number {
  const dot = (a: readonly number[], b: readonly number[]) =>
    a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
  return dot(left, right) / Math.sqrt(dot(left, left) * dot(right, right));
}

function textOf(string: GoldenText): string {
  return string.text.startsWith('(same text as') ? longText : string.text;
}

describe('text embedding of all-minilm-l6-v2', () => {
  it.each(golden.strings)('tokenises and embeds the golden string $name', async (string) => {
    const task = await aTask(string.max_length);
    const ids = idsOf(await task.prepare(Buffer.from(textOf(string))));
    expect(ids.length).toBe(string.token_count);
    if (string.input_ids !== undefined) expect(ids).toEqual(string.input_ids);
    if (string.input_ids_first32 !== undefined) expect(ids.slice(0, 32)).toEqual(string.input_ids_first32);
    if (string.input_ids_sha256_of_comma_joined !== undefined) {
      expect(createHash('sha256').update(ids.join(',')).digest('hex')).toBe(
        string.input_ids_sha256_of_comma_joined,
      );
    }
    const [embedding = []] = await embedTogether(task, [textOf(string)]);
    expect(cosine(embedding.slice(0, 8), string[MODEL].first8)).toBeGreaterThan(0.9999);
    expect(Math.hypot(...embedding)).toBeCloseTo(string[MODEL].norm, 3);
  });

  it('gives the golden cosines for the golden pairs, all in one padded batch', async () => {
    const task = await aTask();
    const texts = golden.pairs.flatMap((pair) => [pair.a, pair.b]);
    const embeddings = await embedTogether(task, texts);
    for (const [index, pair] of golden.pairs.entries()) {
      const [a = [], b = []] = embeddings.slice(index * 2, index * 2 + 2);
      expect(Math.abs(cosine(a, b) - pair[MODEL].cosine)).toBeLessThan(1e-4);
      expect(cosine(a.slice(0, 8), pair[MODEL].a_first8)).toBeGreaterThan(0.9999);
      expect(cosine(b.slice(0, 8), pair[MODEL].b_first8)).toBeGreaterThan(0.9999);
    }
  });

  it('pads a batch to its longest text, with padding masked out', async () => {
    const task = await aTask();
    const items = [await task.prepare(Buffer.from('one')), await task.prepare(Buffer.from('one two three'))];
    const [ids, mask, types] = task.collate?.(items) ?? [];
    expect([ids?.shape, mask?.shape, types?.shape]).toEqual([
      [2, 5],
      [2, 5],
      [2, 5],
    ]);
    expect(idsOf({ tensors: mask === undefined ? [] : [mask] })).toEqual([1, 1, 1, 0, 0, 1, 1, 1, 1, 1]);
    expect(idsOf({ tensors: ids === undefined ? [] : [ids] }).slice(3, 5)).toEqual([0, 0]);
  });

  it('refuses bytes that are not UTF-8 and texts over the size limit', async () => {
    const task = await aTask();
    expect(() => task.prepare(Buffer.from([0x61, 0xff, 0xfe]))).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT' }),
    );
    expect(() => task.prepare(Buffer.alloc(256 * 1024 + 1, 'a '))).toThrow(
      expect.objectContaining({ code: 'INPUT_TOO_LARGE' }),
    );
  });

  it('gives the same tokens for a text far longer than it takes as for its start', async () => {
    const task = await aTask();
    const words = Array.from({ length: 30_000 }, (_, index) => `w${index % 97}`);
    const whole = idsOf(await task.prepare(Buffer.from(words.join(' '))));
    const start = idsOf(await task.prepare(Buffer.from(words.slice(0, 400).join(' '))));
    expect(whole.length).toBe(256);
    expect(whole).toEqual(start);
  });

  it('looks at the whole of a text whose start has few tokens', async () => {
    const task = await aTask();
    const padded = `${' '.repeat(50_000)}hello ${'x'.repeat(60_000)} world`;
    expect(idsOf(await task.prepare(Buffer.from(padded)))).toEqual([101, 7592, 100, 2088, 102]);
  });
});

describe('text embedding of a graph that does not pool', () => {
  const signature = aSignature({
    inputs: [aTensor('input_ids', 'INT64', [-1, -1]), aTensor('attention_mask', 'INT64', [-1, -1])],
    outputs: [aTensor('last_hidden_state', 'FP32', [-1, -1, 2])],
  });
  /** Two real tokens, then two of padding with values that must not count. */
  const vectors = {
    bytes: new Uint8Array(new Float32Array([3, 0, 3, 8, 99, 99, 99, 99]).buffer),
    shape: [1, 4, 2],
  };

  async function answer(part: object): Promise<number[]> {
    const spec = aVersion({ task: 'text-embedding', folder: FOLDER, signature, text: { ...TEXT, ...part } });
    const task = await createTaskAdapter(spec, {
      name: 'x',
      file: FILE,
      qualityRatio: undefined,
      image: undefined,
    });
    const json = Buffer.from(
      task.answer([vectors], 1, PARAMETERS, { tensors: [], context: { ids: [101, 102] } }),
    );
    return (JSON.parse(`{${json.toString()}}`) as { embedding: number[] }).embedding;
  }

  it('averages the tokens that are not padding and scales to length 1', async () => {
    expect(await answer({})).toEqual([0.6, 0.8]);
  });

  it('leaves the length alone when told so, and takes the first token when told so', async () => {
    expect(await answer({ normalise: false })).toEqual([3, 4]);
    expect(await answer({ normalise: false, pooling: 'cls' })).toEqual([3, 0]);
  });
});
