import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EXAMPLES, WorkingFolder } from '../testing/command-line.ts';
import { FakeServer } from '../testing/fake-server.ts';
import { gimbalInProcess } from '../testing/in-process.ts';

const CAT = join(EXAMPLES, 'inputs', 'cat.jpg');
const MAKING = {
  model: 'm',
  version: '1',
  variant: 'fp32',
  degraded: false,
  request_id: 'r-1',
  timings_ms: { total: 2.5 },
};
const ANSWERS = {
  'POST /v1/models/classes/predict': {
    body: {
      ...MAKING,
      predictions: [
        { class_id: 281, label: 'tabby', confidence: 0.75 },
        { class_id: 2, label: 'dog', confidence: 0.1 },
      ],
    },
  },
  'POST /v1/models/faces/predict': {
    body: {
      ...MAKING,
      predictions: [{ class_id: 0, label: 'face <1>', confidence: 0.9, bbox: [10, 20, 60, 80] }],
    },
  },
  'POST /v1/models/points/predict': {
    body: {
      ...MAKING,
      predictions: [
        { label: 'face', confidence: 0.0002, bbox: [20, 60, 180, 180], landmarks: [60, 100, 140, 120] },
      ],
    },
  },
  'POST /v1/models/many/predict': {
    body: { ...MAKING, results: [{ embedding: [1] }, { error: { detail: 'no' } }] },
  },
  'POST /v1/models/text/predict': { body: { ...MAKING, embedding: [0.6, 0.8] } },
  'POST /v1/models/text/versions/2/predict': { body: { ...MAKING, version: '2', embedding: [1, 0] } },
  'POST /v1/models/table/predict': { body: { ...MAKING, outputs: { label: [3] } } },
  'POST /v1/models/slow/predict': { body: {}, never: true },
  'POST /v1/models/busy/predict': {
    status: 503,
    body: {
      title: 'More work than can be done in time',
      status: 503,
      detail: 'Cannot answer: overloaded',
      code: 'OVERLOADED',
      request_id: 'r-2',
      retryable: true,
      retry_after_ms: 1_500,
    },
  },
  'POST /v1/models/strict/predict': {
    status: 422,
    body: {
      detail: 'Cannot read the input: it does not fit the model',
      code: 'INVALID_INPUT',
      errors: [{ pointer: '/input/3', expected: 'a number', received: '"x"', hint: 'send numbers' }],
    },
  },
  'POST /v1/models/clases/predict': {
    status: 404,
    body: { detail: 'Cannot find the model "clases"', code: 'MODEL_NOT_FOUND' },
  },
  'GET /v1/models': { body: { models: [{ name: 'classes' }, { name: 'faces' }] } },
} as const;

let server: FakeServer;
let folder: WorkingFolder;

beforeEach(async () => {
  server = new FakeServer(ANSWERS);
  folder = new WorkingFolder();
  await server.start();
});

afterEach(async () => {
  await server.stop();
  folder.remove();
});

const ask = (args: readonly string[], input?: string | Uint8Array) =>
  gimbalInProcess(['infer', ...args], {
    cwd: folder.path,
    environment: { GIMBAL_URL: server.url },
    ...(input === undefined ? {} : { input }),
  });

it('a picture is sent raw with its own type, and the classes come as bars', async () => {
  const { exitCode, stdout, stderr } = await ask(['classes', '-f', CAT]);
  expect(exitCode).toBe(0);
  expect(server.last.headers['content-type']).toBe('image/jpeg');
  expect(server.last.headers['inference-timeout-ms']).toBe('30000');
  expect(server.last.body).toEqual(readFileSync(CAT));
  expect(stdout).toBe('tabby   75.0 %  ██████████████████\ndog     10.0 %  ██▍\n');
  expect(stderr).toContain('m 1 fp32');
  expect(stderr).toContain('total 2.5 ms');
});

it('parameters turn a picture into a form and a text into JSON', async () => {
  await ask(['classes', CAT, '--top-k', '3', '--threshold', '0.2']);
  expect(server.last.headers['content-type']).toMatch(/^multipart\/form-data/);
  expect(server.last.body.toString('latin1')).toContain('{"top_k":3,"threshold":0.2}');
  await ask(['text', '-t', 'hello', '--top-k', '1']);
  expect(JSON.parse(server.last.body.toString())).toEqual({ input: 'hello', parameters: { top_k: 1 } });
});

it('a text is sent as plain text, several as one request', async () => {
  const { stdout } = await ask(['text', '-t', 'grüße']);
  expect(server.last.headers['content-type']).toBe('text/plain');
  expect(server.last.body.toString()).toBe('grüße');
  expect(stdout).toBe('2 numbers of length 1.000: [0.6000, 0.8000]\n');
  await ask(['text', '-t', 'a', '-t', 'b']);
  expect(JSON.parse(server.last.body.toString())).toEqual({ inputs: ['a', 'b'] });
});

it('JSON is an input or a whole request, from the flag, a file or standard input', async () => {
  await ask(['table', '-d', '[1,2,3]']);
  expect(JSON.parse(server.last.body.toString())).toEqual({ input: [1, 2, 3] });
  await ask(['table', '-d', '{"inputs":[[1],[2]]}']);
  expect(JSON.parse(server.last.body.toString())).toEqual({ inputs: [[1], [2]] });
  folder.write('row.json', '{"input":[9007199254740993]}');
  await ask(['table', '-d', '@row.json']);
  expect(server.last.body.toString()).toBe('{"input":[9007199254740993]}');
  const { stdout } = await ask(['table', '-d', '-'], '{"a":1}');
  expect(JSON.parse(server.last.body.toString())).toEqual({ input: { a: 1 } });
  expect(stdout).toBe('label [3]\n');
});

it('standard input is looked at to tell what it is', async () => {
  await ask(['classes', '-'], readFileSync(CAT));
  expect(server.last.headers['content-type']).toBe('image/jpeg');
  await ask(['text'], 'some words\n');
  expect(server.last.headers['content-type']).toBe('text/plain');
  await ask(['table', '-'], '[1, 2]');
  expect(server.last.headers['content-type']).toBe('application/json');
  await ask(['table', '-'], new Uint8Array([0, 0, 128, 63]));
  expect(server.last.headers['content-type']).toBe('application/octet-stream');
});

it('--json is the server’s own answer in one line, and a version may be named', async () => {
  const { stdout } = await ask(['text', '-t', 'x', '--model-version', '2', '--json']);
  expect(JSON.parse(stdout)).toEqual({ ...MAKING, version: '2', embedding: [1, 0] });
  expect(stdout.trimEnd()).not.toContain('\n');
});

it('--draw writes the picture with its boxes', async () => {
  const picture = folder.write(
    'grey.png',
    await sharp({ create: { width: 100, height: 90, channels: 3, background: '#808080' } })
      .png()
      .toBuffer(),
  );
  const { exitCode, stderr } = await ask(['faces', picture, '--draw', 'out.png']);
  expect({ exitCode, stderr: stderr.includes('drawn into out.png') }).toEqual({ exitCode: 0, stderr: true });
  const { data, info } = await sharp(join(folder.path, 'out.png'))
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  expect(info).toMatchObject({ width: 100, height: 90 });
  const at = (x: number, y: number): number[] => [...data.subarray((y * 100 + x) * 3, (y * 100 + x) * 3 + 3)];
  expect(at(10, 60)).toEqual([255, 59, 48]);
  expect(at(35, 60)).toEqual([128, 128, 128]);
});

it('--draw marks landmarks, and says of small scores what they are', async () => {
  const picture = folder.write(
    'grey.png',
    await sharp({ create: { width: 200, height: 200, channels: 3, background: '#808080' } })
      .png()
      .toBuffer(),
  );
  const { stdout } = await ask(['points', picture, '--draw', 'out.png']);
  expect(stdout).toMatch(/^face +0\.02 %/);
  const { data, info } = await sharp(join(folder.path, 'out.png'))
    .raw()
    .toBuffer({ resolveWithObject: true });
  const at = (x: number, y: number): number[] => {
    const start = (y * info.width + x) * info.channels;
    return [...data.subarray(start, start + 3)];
  };
  expect(at(60, 100)).toEqual([255, 255, 255]);
  expect(at(140, 120)).toEqual([255, 255, 255]);
  expect(at(100, 150)).toEqual([128, 128, 128]);
});

it('--jsonl has one line for each result', async () => {
  const many = await ask(['many', '-t', 'a', '-t', 'b', '--jsonl']);
  expect(many.stdout).toBe('{"embedding":[1]}\n{"error":{"detail":"no"}}\n');
  const one = await ask(['text', '-t', 'x', '--jsonl']);
  expect(JSON.parse(one.stdout)).toMatchObject({ embedding: [0.6, 0.8] });
});

it('a file that is not there is exit 4, and nothing is asked', async () => {
  const { exitCode, stdout, stderr } = await ask(['classes', '-f', 'none.jpg', '--json']);
  expect(exitCode).toBe(4);
  expect(stderr).toMatch(/where +none\.jpg/);
  expect(JSON.parse(stdout)).toMatchObject({
    error: { exit_code: 4, where: 'none.jpg', expected: 'a readable file', got: 'nothing' },
  });
  expect(server.seen).toEqual([]);
});

it('a picture that could not be written is refused before anything is asked', async () => {
  folder.write('taken.png/file', '');
  folder.write('file', '');
  for (const [target, code, reason] of [
    ['nowhere/out.png', 4, /expected +a folder nowhere/],
    ['file/out.png', 4, /got +a file/],
    ['taken.png', 2, /a folder has the name/],
  ] as const) {
    const { exitCode, stderr } = await ask(['faces', CAT, '--draw', target]);
    expect({ target, exitCode }).toEqual({ target, exitCode: code });
    expect(stderr).toMatch(reason);
    expect(stderr).toMatch(new RegExp(`where +--draw ${target}`));
  }
  expect(server.seen).toEqual([]);
});

it('an unknown model is exit 4 with the nearest name', async () => {
  const { exitCode, stderr, stdout } = await ask(['clases', CAT]);
  expect({ exitCode, stdout }).toEqual({ exitCode: 4, stdout: '' });
  expect(stderr).toContain('did you mean "classes"?');
});

it('errors of the server are told with pointer, expected, got and when to come back', async () => {
  const strict = await ask(['strict', '-d', '["x"]']);
  expect(strict.exitCode).toBe(1);
  expect(strict.stderr).toContain('/input/3: expected a number, got "x"; send numbers');
  const busy = await ask(['busy', '-t', 'x', '--json']);
  expect(busy.exitCode).toBe(1);
  expect(JSON.parse(busy.stdout)).toMatchObject({ error: { fix: 'try again in 2 s' } });
  expect(busy.stderr).toContain('r-2');
});

it('a server that is not there is exit 6, one that never answers exit 7', async () => {
  const gone = await gimbalInProcess(['infer', 'm', '-t', 'x', '--url', 'http://127.0.0.1:9']);
  expect(gone.exitCode).toBe(6);
  expect(gone.stderr).toContain('gimbal serve');
  const slow = await ask(['slow', '-t', 'x', '--timeout', '10ms']);
  expect(slow.exitCode).toBe(7);
});

it.each([
  [['classes', '-f', '.'], /it is a folder/],
  [['classes', '-f', 'empty.txt'], /the file is empty/],
  [['classes', '-t', 'x', '-d', '1'], /one kind of input/],
  [['classes', '-t', 'x', '--draw', 'out.png'], /nothing to draw on/],
  [['classes', CAT, '--draw', 'out.txt'], /ends in \.png/],
  [['classes', CAT, '--top-k', '0'], /integer above 0/],
  [['classes', CAT, '--timeout', 'soon'], /a duration/],
  [['classes', CAT, '--url', 'http://'], /a URL/],
] as const)('%j is usage', async (args, reason) => {
  folder.write('empty.txt', '');
  const { exitCode, stderr } = await ask(args);
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(reason);
  expect(server.seen).toEqual([]);
});
