import type { RemoteSpec } from '@gimbal/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { placeOf } from './file-problem.ts';
import { Repository } from './repository.ts';
import { SOME_DEFAULTS, TemporaryFolder } from './testing/temporary-folder.ts';
import type { VersionReading } from './version-source.ts';

let folder: TemporaryFolder;

beforeEach(() => {
  folder = new TemporaryFolder();
});

afterEach(() => folder.remove());

async function read(yaml: string, files: Readonly<Record<string, string>> = {}): Promise<VersionReading> {
  folder.write('vision/3/version.yaml', yaml);
  for (const [name, text] of Object.entries(files)) folder.write(`vision/3/${name}`, text);
  const { versions } = await new Repository(folder.path, SOME_DEFAULTS, 4).read();
  const [version] = versions;
  if (version === undefined || versions.length !== 1) throw new Error(JSON.stringify(versions));
  return version;
}

async function good(yaml: string, files: Readonly<Record<string, string>> = {}) {
  const version = await read(yaml, files);
  if (!version.ok) throw version.error;
  const remote = version.spec.variants[0]?.remote as RemoteSpec;
  return { ...version, remote };
}

async function problems(yaml: string): Promise<string[]> {
  const version = await read(yaml);
  if (version.ok) throw new Error('expected a refusal');
  return version.problems.map((problem) => `${placeOf(problem)} ${problem.field}: ${problem.expected}`);
}

describe('A version with "remote" and no model file', () => {
  it('is read with everything that is not declared completed', async () => {
    const { spec, remote } = await good('remote: { endpoints: ["http://triton:8000/"] }\n');
    expect(spec).toMatchObject({
      model: 'vision',
      version: '3',
      task: 'tensor',
      signature: { inputs: [], outputs: [], batchAxis: 'dynamic' },
      batching: { maxSize: 'auto' },
    });
    expect(spec.variants).toHaveLength(1);
    expect(spec.digest).toMatch(/^[0-9a-f]{64}$/);
    expect(remote).toMatchObject({
      protocol: 'v2-rest',
      endpoints: ['http://triton:8000'],
      model: 'vision',
      version: undefined,
      encoding: 'auto',
      concurrency: 'auto',
      attempts: 3,
      retryRatio: 0.1,
      hedgeRatio: 0,
    });
  });

  it('takes declared tensors, derives the batch axis and the task from them, and checks labels as files', async () => {
    const { spec } = await good(
      [
        'remote:',
        '  endpoints: [grpc://a:8001, grpcs://b:8001]',
        '  model: resnet',
        '  version: "7"',
        '  inputs: [{ name: x, datatype: FP32, shape: [-1, 64] }]',
        '  outputs: [{ name: scores, datatype: FP32, shape: [-1, 2] }]',
        '  headers: [{ name: Authorization, env: TRITON_TOKEN, prefix: "Bearer " }]',
        '  tls: { ca: ca.pem, serverName: triton.test }',
        'labels: [cat, dog]',
        '',
      ].join('\n'),
      { 'ca.pem': 'x' },
    );
    expect(spec.signature.batchAxis).toBe('dynamic');
    expect(spec.task).toBe('tabular');
    expect(spec.labels).toEqual(['cat', 'dog']);
    expect(spec.variants[0]?.remote).toMatchObject({
      protocol: 'v2-grpc',
      model: 'resnet',
      version: '7',
      headers: [
        { name: 'Authorization', from: { kind: 'environment', variable: 'TRITON_TOKEN', prefix: 'Bearer ' } },
      ],
      tls: { ca: expect.stringMatching(/vision\/3\/ca\.pem$/), serverName: 'triton.test' },
    });
  });

  it('that embeds texts has the signature and the task of its protocol', async () => {
    const yaml = 'remote: { protocol: openai-embeddings, endpoints: ["https://api.test/v1"], model: e5 }\n';
    const { spec } = await good(yaml);
    expect(spec.task).toBe('text-embedding');
    expect(spec.signature.inputs[0]).toMatchObject({ name: 'text', datatype: 'BYTES' });
  });

  it('has another digest when anything of it is another', async () => {
    const one = await good('remote: { endpoints: ["http://a:1"] }\n');
    const other = await good('remote: { endpoints: ["http://a:2"] }\n');
    expect(one.spec.digest).not.toBe(other.spec.digest);
  });

  it.each([
    ['remote: {}\n', /endpoints: a list of 1 to 64/],
    ['remote: { endpoints: ["ftp://a"] }\n', /endpoints\[0\]: an address such as/],
    ['remote: { endpoints: ["http://user:pass@a"] }\n', /endpoints\[0\]: an address such as/],
    ['remote: { endpoints: ["http://a", "grpc://b"] }\n', /endpoints\[1\]: http:\/\/ or https/],
    ['remote: { endpoints: ["http://a"], headers: [{ name: x }] }\n', /either "value" or "env"/],
    [
      'remote: { endpoints: ["http://a"], inputs: [{ name: x, datatype: FP32, shape: [1] }] }\n',
      /both "inputs"/,
    ],
    ['remote: { endpoints: ["http://a"], tls: { ca: nowhere.pem } }\n', /tls\.ca: a file inside/],
    ['remote: { endpoints: ["http://a"], tls: { cert: c.pem } }\n', /both "cert" and "key"/],
    ['task: image-classification\nremote: { endpoints: ["http://a"] }\n', /task: tensor or tabular/],
    ['variants: [{ name: a, file: a.onnx }]\nremote: { endpoints: ["http://a"] }\n', /no "variants" beside/],
  ])('is refused with the place of what is wrong: %s', async (yaml, words) => {
    expect((await problems(yaml)).join('\n')).toMatch(words);
  });
});
