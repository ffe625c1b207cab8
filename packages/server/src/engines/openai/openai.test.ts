import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Signature, TensorSpec } from '@gimbal/core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RemoteHarness, resultsOf } from '../testing/remote-harness.ts';
import { textElements } from '../text-elements.ts';

const EMBEDDINGS: Signature = {
  inputs: [aTensor('text', 'BYTES', [-1])],
  outputs: [aTensor('embedding', 'FP32', [-1, -1])],
  batchAxis: 'dynamic',
};
const CHAT: Signature = {
  inputs: [aTensor('text_input', 'BYTES', [1])],
  outputs: [aTensor('text_output', 'BYTES', [1]), aTensor('response', 'BYTES', [1])],
  batchAxis: 'none',
};

let server: Server;
let harness: RemoteHarness | undefined;
let answer: (document: Record<string, unknown>) => unknown;
const seen: { path: string | undefined; document: Record<string, unknown> }[] = [];

beforeEach(async () => {
  seen.length = 0;
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.method === 'GET') {
      response.end(JSON.stringify({ data: [] }));
      return;
    }
    const document = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
    seen.push({ path: request.url, document });
    response.end(JSON.stringify(answer(document)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  await harness?.stop();
  server.close();
});

function open(protocol: 'openai-embeddings' | 'openai-chat', path = ''): RemoteHarness {
  const { port } = server.address() as AddressInfo;
  const embeds = protocol === 'openai-embeddings';
  const version = {
    signature: embeds ? EMBEDDINGS : CHAT,
    task: embeds ? 'text-embedding' : 'tensor',
  } as const;
  harness = new RemoteHarness(
    { protocol, endpoints: [`http://127.0.0.1:${port}${path}`], model: 'big' },
    { version },
  );
  return harness;
}

describe('Embeddings', () => {
  test('of a whole batch are one call, whatever the order of its answer', async () => {
    answer = ({ input }) => ({
      data: (input as string[]).map((text, index) => ({ index, embedding: [text.length, index] })).reverse(),
    });
    const report = await open('openai-embeddings').run([
      { text: 'four', want: 'answer' },
      { text: 'größer', want: 'answer' },
    ]);
    expect(resultsOf(report)).toEqual(['"embedding":[4,0]', '"embedding":[6,1]']);
    expect(seen).toEqual([
      {
        path: '/v1/embeddings',
        document: { model: 'big', input: ['four', 'größer'], encoding_format: 'float' },
      },
    ]);
  });

  test.each([
    ['too few', { data: [] }],
    [
      'two of one text',
      {
        data: [
          { index: 0, embedding: [1] },
          { index: 0, embedding: [1] },
        ],
      },
    ],
    [
      'of different lengths',
      {
        data: [
          { index: 0, embedding: [1] },
          { index: 1, embedding: [1, 2] },
        ],
      },
    ],
    [
      'of texts',
      {
        data: [
          { index: 0, embedding: ['1'] },
          { index: 1, embedding: ['1'] },
        ],
      },
    ],
  ])('%s are no answer', async (_, document) => {
    answer = () => document;
    const report = await open('openai-embeddings').run([{ text: 'a' }, { text: 'b' }]);
    expect(resultsOf(report)).toEqual(['OUTPUT_INVALID', 'OUTPUT_INVALID']);
  });
});

describe('Chat', () => {
  test('passes words on as what the user says, and gives the first choice and the whole answer', async () => {
    answer = () => ({ id: 'c1', choices: [{ message: { role: 'assistant', content: 'Hello' } }] });
    const { parts } = await open('openai-chat', '/api/v3').run([{ text: '{hi}' }]);
    const [part] = parts;
    const outputs = part?.ok && part.output.kind === 'tensors' ? part.output.outputs : [];
    expect(outputs.map(({ bytes }) => textElements(bytes)[0])).toEqual(['Hello', JSON.stringify(answer({}))]);
    expect(seen).toEqual([
      {
        path: '/api/v3/chat/completions',
        document: { messages: [{ role: 'user', content: '{hi}' }], model: 'big', stream: false },
      },
    ]);
  });

  test('passes a whole request on, with the model put in and streaming off', async () => {
    answer = () => ({ choices: [{ message: { content: null, tool_calls: [] } }] });
    const request = {
      messages: [{ role: 'system', content: 'Be brief' }],
      temperature: 0,
      stream: true,
      model: 'x',
    };
    const report = await open('openai-chat').run([{ text: JSON.stringify(request) }]);
    expect(report.parts[0]?.ok).toBe(true);
    expect(seen[0]?.document).toEqual({ ...request, model: 'big', stream: false });
  });

  test('sends no trial of its own: tokens cost money', async () => {
    answer = () => ({ choices: [{ message: { content: 'x' } }] });
    await open('openai-chat').run([{ text: 'a' }]);
    expect(seen.length).toBe(1);
  });
});

function aTensor(name: string, datatype: TensorSpec['datatype'], shape: readonly number[]): TensorSpec {
  return { name, datatype, shape, axisNames: shape.map(() => null) };
}
