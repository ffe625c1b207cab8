import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { placeOf } from './file-problem.ts';
import { Repository } from './repository.ts';
import { buildModel, node } from './testing/onnx-builder.ts';
import {
  BROKEN_MODELS,
  EXAMPLE_MODELS,
  FIXTURE_MODELS,
  SOME_DEFAULTS,
  TemporaryFolder,
} from './testing/temporary-folder.ts';
import type { ReadVersion, RefusedVersion, VersionReading } from './version-source.ts';

const CORES = 4;
let folder: TemporaryFolder;

beforeEach(() => {
  folder = new TemporaryFolder();
});

afterEach(() => folder.remove());

const readAt = (path: string) => new Repository(path, SOME_DEFAULTS, CORES).read();
const names = (versions: readonly VersionReading[]) =>
  versions.map(({ model, version }) => `${model}/${version}`);

async function only(path = folder.path): Promise<ReadVersion> {
  const { versions } = await readAt(path);
  const [version] = versions;
  if (versions.length !== 1 || !version?.ok)
    throw new Error(`expected one good version: ${JSON.stringify(versions)}`);
  return version;
}

async function refused(path = folder.path): Promise<RefusedVersion> {
  const { versions } = await readAt(path);
  const bad = versions.filter((version) => !version.ok);
  if (bad.length !== 1 || bad[0] === undefined)
    throw new Error(`expected one refusal: ${JSON.stringify(versions)}`);
  return bad[0];
}

const derived = ({ spec }: ReadVersion, field: string) => spec.derivations.find((one) => one.field === field);

describe('layouts', () => {
  it('<name>/<version>/model.onnx as other servers have it, versions ascending by number', async () => {
    for (const version of ['10', '2', '1']) folder.write(`m/${version}/model.onnx`, buildModel());
    folder.write('a/1/model.onnx', buildModel());
    expect(names((await readAt(folder.path)).versions)).toEqual(['a/1', 'm/1', 'm/2', 'm/10']);
  });

  it('one bare .onnx file, named after itself', async () => {
    const path = folder.write('my model (v2).onnx', buildModel());
    expect((await only(path)).model).toBe('my-model-v2');
  });

  it('files beside a bare model belong to it only when it is alone', async () => {
    folder.write('labels.txt', 'a\nb\nc\nd\n');
    const path = folder.write('one.onnx', buildModel());
    expect((await only(path)).spec.labels).toHaveLength(4);
    folder.write('two.onnx', buildModel());
    expect((await only(path)).spec.labels).toBeUndefined();
  });

  it('a folder of bare files is a repository', async () => {
    folder.write('one.onnx', buildModel());
    folder.write('two.onnx', buildModel());
    expect(names((await readAt(folder.path)).versions)).toEqual(['one/1', 'two/1']);
  });

  it('a folder with a single model, a model’s folder, a version’s folder', async () => {
    folder.write('flat/model.onnx', buildModel());
    folder.write('flat/labels.txt', 'a\nb\nc\nd\n');
    expect(await only(join(folder.path, 'flat'))).toMatchObject({ model: 'flat', version: '1' });
    expect(await only()).toMatchObject({ model: 'flat', version: '1' });
    folder.write('deep/3/model.onnx', buildModel());
    expect(await only(join(folder.path, 'deep'))).toMatchObject({ model: 'deep', version: '3' });
    expect(await only(join(folder.path, 'deep', '3'))).toMatchObject({ model: 'deep', version: '3' });
    expect(await only(join(folder.path, 'deep', '3', 'model.onnx'))).toMatchObject({
      model: 'deep',
      version: '3',
    });
  });

  it('folders without models and hidden ones are left out, and said when visible', async () => {
    folder.write('m/1/model.onnx', buildModel());
    folder.write('notes/readme.md', 'x');
    folder.write('.git/1/model.onnx', 'x');
    const { versions, notes } = await readAt(folder.path);
    expect(names(versions)).toEqual(['m/1']);
    expect(notes).toEqual(['notes holds no model and was left out']);
  });

  it('config.pbtxt of Triton is ignored with a note', async () => {
    folder.write('m/config.pbtxt', 'max_batch_size: 8');
    folder.write('m/1/model.onnx', buildModel());
    expect((await readAt(folder.path)).notes[0]).toMatch(/m\/config\.pbtxt is Triton's/);
  });

  it('a version folder that is no number is told, and its neighbours served', async () => {
    folder.write('m/1/model.onnx', buildModel());
    folder.write('m/v2/model.onnx', buildModel());
    const { versions } = await readAt(folder.path);
    expect(versions.filter(({ ok }) => ok)).toHaveLength(1);
    expect((await refused()).error.message).toMatch(/m\/v2: expected a version number such as 1/);
  });

  it('a path that is not there fails without its absolute path', async () => {
    const missing = join(folder.path, 'none');
    await expect(readAt(missing)).rejects.toMatchObject({
      code: 'MODEL_UNAVAILABLE',
      message: expect.not.stringContaining(missing),
    });
  });
});

describe('what is not declared', () => {
  it('is derived for the examples and the fixtures', async () => {
    const { versions } = await readAt(EXAMPLE_MODELS);
    const tasks = Object.fromEntries(versions.flatMap((one) => (one.ok ? [[one.model, one.spec.task]] : [])));
    expect(tasks).toEqual({
      'add-sub': 'tensor',
      digits: 'tabular',
      efficientnet: 'image-classification',
      faces: 'object-detection',
      minilm: 'text-embedding',
    });
    const fixtures = await readAt(FIXTURE_MODELS);
    expect(fixtures.versions.filter(({ ok }) => !ok)).toEqual([]);
  });

  it('a table with labels: task, labels, threads, deadline, each with its reason', async () => {
    folder.addModel('digits-mlp');
    folder.remove('digits-mlp/2');
    const version = await only();
    expect(version.spec).toMatchObject({ task: 'tabular', deadlineMs: 10_000, runners: { threads: CORES } });
    expect(version.spec.labels).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
    expect(derived(version, 'task')).toEqual({
      field: 'task',
      value: 'tabular',
      because: 'one input of rows with 64 numbers',
    });
    expect(derived(version, 'labels')?.value).toBe('labels.txt (10 labels)');
    expect(derived(version, 'runners.threads')?.because).toBe('4 usable cores for one runner');
  });

  it('cores are shared among the runners', async () => {
    folder.write('m/1/model.onnx', buildModel());
    folder.write('m/1/version.yaml', 'runners: { count: 3 }');
    expect((await only()).spec.runners).toMatchObject({ count: 3, threads: 1 });
  });

  it('a batch axis: named alike, all unnamed, or placeholders of tf2onnx', async () => {
    const cases = [
      [['batch', 4], ['batch', 2], 'dynamic'],
      [[null, 4], [null, 2], 'dynamic'],
      [['unk__1', 4], ['unk__2', 2], 'dynamic'],
      [['batch', 4], ['rows', 2], 'none'],
      [['batch', 4], [null, 2], 'none'],
      [[1, 4], [1, 2], 'none'],
      [['batch', 4], [], 'none'],
    ] as const;
    for (const [input, output, axis] of cases) {
      const model = buildModel({
        inputs: [{ name: 'x', axes: input }],
        outputs: [{ name: 'y', axes: output }],
      });
      folder.write('m/1/model.onnx', model);
      const { spec } = await only();
      expect(spec.signature.batchAxis, JSON.stringify([input, output])).toBe(axis);
      expect(spec.batching.maxSize).toBe(axis === 'dynamic' ? 'auto' : 1);
    }
  });

  it('preprocessing of pictures, guesses marked as such', async () => {
    const model = buildModel({
      inputs: [{ name: 'x', axes: ['n', 96, 128, 3] }],
      outputs: [{ name: 'y', axes: ['n', 2] }],
    });
    folder.write('m/1/model.onnx', model);
    folder.write('m/1/labels.txt', 'cat\ndog\n');
    const version = await only();
    expect(version.spec.task).toBe('image-classification');
    expect(version.spec.variants[0]?.image).toEqual({
      size: [128, 96],
      crop: 'centre',
      cropRatio: 0.875,
      resize: 'bilinear',
      colour: 'rgb',
      layout: 'nhwc',
      mean: [0],
      std: [255],
    });
    expect(derived(version, 'image.std')?.because).toMatch(/^guess: values from 0 to 1/);
    expect(derived(version, 'image.size')?.because).toBe('the input is [n, 96, 128, 3]');
  });

  it('a picture model without labels stays a tensor model and says why', async () => {
    folder.write(
      'm/1/model.onnx',
      buildModel({ inputs: [{ name: 'x', axes: ['n', 3, 8, 8] }], outputs: [{ name: 'y', axes: ['n', 5] }] }),
    );
    const version = await only();
    expect(version.spec.task).toBe('tensor');
    expect(derived(version, 'task')?.because).toMatch(/add labels\.txt or declare the task/);
  });

  it('text: token limit and padding from the files beside the tokenizer', async () => {
    const inputs = ['input_ids', 'attention_mask'].map((name) => ({
      name,
      elementType: 7,
      axes: ['batch', 'sequence'],
    }));
    folder.write('m/1/model.onnx', buildModel({ inputs, outputs: [{ name: 'e', axes: ['batch', 8] }] }));
    folder.write(
      'm/1/tokenizer.json',
      '{"version":"1.0","added_tokens":[{"id":3,"content":"<pad>","special":true}]}',
    );
    folder.write('m/1/tokenizer_config.json', '{"model_max_length": 77, "x": 1}');
    expect((await only()).spec).toMatchObject({
      task: 'text-embedding',
      text: { tokenizer: 'tokenizer.json', maxTokens: 77, padId: 3, pooling: 'auto', normalise: true },
    });
    folder.write('m/1/labels.txt', Array.from({ length: 8 }, (_, index) => `l${index}`).join('\n'));
    expect((await only()).spec.task).toBe('text-classification');
  });
});

describe('the digest', () => {
  const digest = async () => (await only()).spec.digest;

  it('changes with a model, its labels, its version.yaml and its model.yaml, and only with those', async () => {
    folder.write('m/1/model.onnx', buildModel());
    const first = await digest();
    expect(first).toMatch(/^[0-9a-f]{64}$/);
    folder.write('m/1/README.md', 'not part of it');
    expect(await digest()).toBe(first);
    const seen = new Set([first]);
    folder.write('m/1/labels.txt', 'a\nb\nc\nd\n');
    seen.add(await digest());
    folder.write('m/1/version.yaml', 'deadline: 2s');
    seen.add(await digest());
    folder.write('m/model.yaml', 'batching: { maxDelay: 9ms }');
    seen.add(await digest());
    folder.write('m/model.yaml', 'batching: { maxDelay: 8ms }');
    seen.add(await digest());
    folder.write('m/1/model.onnx', buildModel({ producer: 'another' }));
    seen.add(await digest());
    expect(seen.size).toBe(6);
    folder.write('m/model.yaml', '# a remark\nbatching:\n  maxDelay: 8ms\n');
    expect(seen).toContain(await digest());
  });

  it('is the same wherever the folder lies', async () => {
    folder.write('a/m/1/model.onnx', buildModel());
    folder.write('b/m/1/model.onnx', buildModel());
    const [a, b] = await Promise.all(['a', 'b'].map((name) => only(join(folder.path, name))));
    expect(a?.spec.digest).toBe(b?.spec.digest);
  });
});

describe('declarations', () => {
  it('version.yaml beats model.yaml, which beats the defaults', async () => {
    folder.write('m/1/model.onnx', buildModel());
    folder.write(
      'm/model.yaml',
      'batching: { maxDelay: 7ms, maxSize: 8 }\ndeadline: 3s\nnonFiniteOutputs: allow',
    );
    folder.write('m/1/version.yaml', 'batching: { maxDelay: 2ms }');
    expect((await only()).spec).toMatchObject({
      batching: { maxDelayMs: 2, maxSize: 8, preferredSizes: [] },
      deadlineMs: 3_000,
      nonFiniteOutputs: 'allow',
    });
  });

  it('a ladder keeps its order, its qualities and its own preprocessing', async () => {
    const { versions } = await readAt(EXAMPLE_MODELS);
    const efficientnet = versions.find(({ model }) => model === 'efficientnet');
    if (!efficientnet?.ok) throw new Error('the example is broken');
    expect(efficientnet.spec.variants.map(({ name, qualityRatio }) => [name, qualityRatio])).toEqual([
      ['lite2', 0.776],
      ['lite2-int8', 0.77],
      ['lite0-int8', 0.744],
    ]);
    expect(efficientnet.spec.variants.map(({ image }) => image?.size)).toEqual([
      [260, 260],
      [260, 260],
      [224, 224],
    ]);
  });

  it('model.yaml chooses the served versions', async () => {
    for (const version of ['1', '2', '3']) folder.write(`m/${version}/model.onnx`, buildModel());
    folder.write('m/model.yaml', 'versions: latest');
    expect(names((await readAt(folder.path)).versions)).toEqual(['m/3']);
    folder.write('m/model.yaml', 'versions: [1, 3]');
    expect(names((await readAt(folder.path)).versions)).toEqual(['m/1', 'm/3']);
    folder.write('m/model.yaml', 'versions: [1, 9]');
    expect((await refused()).problems[0]).toMatchObject({
      field: 'versions[1]',
      got: '9',
      line: 1,
      column: 15,
    });
  });
});

describe('a refusal', () => {
  const pictures = {
    inputs: [{ name: 'x', axes: ['n', 3, 8, 8] }],
    outputs: [{ name: 'y', axes: ['n', 5] }],
  } as const;

  it('never hides the neighbours, whatever is wrong', async () => {
    folder.write('good/1/model.onnx', buildModel());
    folder.write('good/2/model.onnx', 'nonsense');
    folder.write('bad/1/version.yaml', 'task: [');
    folder.write('worse/model.yaml', 'deadline: soon');
    folder.write('worse/1/model.onnx', buildModel());
    const { versions } = await readAt(folder.path);
    expect(Object.fromEntries(versions.map((one) => [`${one.model}/${one.version}`, one.ok]))).toEqual({
      'bad/1': false,
      'good/1': true,
      'good/2': false,
      'worse/1': false,
    });
  });

  it('of every broken sample names its file', async () => {
    const { versions } = await readAt(BROKEN_MODELS);
    const bad = versions.filter((version) => !version.ok);
    expect(bad).toHaveLength(7);
    for (const { model, problems, error } of bad) {
      expect(problems.map(placeOf)).toEqual([`${model}.onnx`]);
      expect(error.message).toContain(`Cannot load ${model} version 1: ${model}.onnx: expected `);
    }
  });

  it.each([
    [
      'a variant that is not there',
      'variants: [{ name: a, file: modle.onnx }]',
      'variants[0].file',
      /did you mean "model\.onnx"\?/,
    ],
    ['a variant outside', 'variants: [{ name: a, file: ../../x.onnx }]', 'variants[0].file', /outside/],
    ['labels that are not there', 'labels: names.txt', 'labels', /"names\.txt", which is missing/],
    ['labels in the wrong number', 'labels: [a, b]', 'labels', /5 for the output "y".*2 labels/],
    [
      'a size that the model does not take',
      'task: image-classification\nimage: { size: [9, 9] }',
      'image.size',
      /\[8, 8\]/,
    ],
    [
      'grey for three channels',
      'task: image-classification\nimage: { colour: grey }',
      'image.colour',
      /rgb or bgr/,
    ],
    ['a text task without token inputs', 'task: text-embedding', 'task', /no input takes token ids/],
    ['a detector without its outputs', 'task: object-detection', 'task', /heatmap/],
    [
      'a section that the task never reads',
      'task: tensor\ntext: { maxTokens: 5 }',
      'text',
      /no "text" for the task tensor/,
    ],
    ['golden inputs that are not there', 'golden: golden.json', 'golden', /missing/],
  ])('of %s tells field and line', async (_name, yaml, field, reason) => {
    folder.write('m/1/model.onnx', buildModel(pictures));
    folder.write('m/1/version.yaml', yaml);
    const { problems, error } = await refused();
    const problem = problems.find((one) => one.field === field);
    expect(problem, JSON.stringify(problems)).toMatchObject({
      file: 'm/1/version.yaml',
      line: expect.any(Number),
    });
    expect(`expected ${problem?.expected}, got ${problem?.got}; ${problem?.hint}`).toMatch(reason);
    expect(error.fields.some(({ pointer }) => pointer.endsWith(` ${field}`))).toBe(true);
    expect(error.message).not.toContain(folder.path);
  });

  it('of variants that can not take each other’s place', async () => {
    folder.write('m/1/model.onnx', buildModel());
    folder.write(
      'm/1/other.onnx',
      buildModel({ inputs: [{ name: 'x', elementType: 10, axes: ['batch', 4] }] }),
    );
    folder.write(
      'm/1/version.yaml',
      'variants: [{ name: a, file: model.onnx }, { name: b, file: other.onnx }]',
    );
    expect((await refused()).problems[0]).toMatchObject({
      file: 'm/1/other.onnx',
      expected: 'the inputs of model.onnx, x FP32 [batch, 4]',
      got: 'x FP16 [batch, 4]',
    });
  });

  it('of several models without a declaration', async () => {
    folder.write('m/1/a.onnx', buildModel());
    folder.write('m/1/b.onnx', buildModel());
    expect((await refused()).problems[0]).toMatchObject({
      got: 'a.onnx, b.onnx',
      hint: expect.stringContaining('variants'),
    });
  });

  it('of a batch size that a fixed batch can not have', async () => {
    folder.write('m/1/model.onnx', buildModel({ inputs: [{ name: 'x', axes: [1, 4] }] }));
    folder.write('m/1/version.yaml', 'batching:\n  maxSize: 8\n');
    expect((await refused()).problems[0]).toMatchObject({ field: 'batching.maxSize', line: 2, got: '8' });
  });

  it('of links that lead out of the repository', async () => {
    folder.write('inside/m/1/readme.md', 'x');
    const outside = folder.write('outside.onnx', buildModel());
    folder.link('inside/m/1/model.onnx', outside);
    const { error } = await refused(join(folder.path, 'inside'));
    expect(error.message).toMatch(/outside/);
    folder.remove('inside/m/1/model.onnx');
    folder.write('inside/m/1/model.onnx', buildModel());
    folder.link('inside/m/1/labels.txt', '/etc/hostname');
    expect((await refused(join(folder.path, 'inside'))).error.message).toMatch(/labels\.txt.*outside/);
    folder.remove('inside/m/1/labels.txt');
    folder.link('inside/m/1/version.yaml', '/etc/hostname');
    expect((await refused(join(folder.path, 'inside'))).error.message).toMatch(/a link out of it/);
  });

  it('tells an empty line of labels.txt by its number', async () => {
    folder.write('m/1/model.onnx', buildModel());
    folder.write('m/1/labels.txt', 'a\n\nc\nd\n');
    expect((await refused()).problems[0]).toMatchObject({
      file: 'm/1/labels.txt',
      line: 2,
      got: 'an empty line',
    });
  });
});

it('a link inside the repository is followed', async () => {
  folder.write('shared/model.bin', buildModel());
  folder.link('m/1/model.onnx', '../../shared/model.bin');
  expect((await only()).spec.variants[0]?.file).toBe(join(folder.path, 'm', '1', 'model.onnx'));
});

it('a dynamically quantised model is noted', async () => {
  folder.write(
    'm/1/model.onnx',
    buildModel({ nodes: [node('DynamicQuantizeLinear', { inputs: ['x'], outputs: ['y'] })] }),
  );
  expect((await readAt(folder.path)).notes).toEqual([
    expect.stringMatching(/^m\/1: model\.onnx is quantised dynamically: its results depend/),
  ]);
});
