import type { Signature } from '@gimbal/core';
import { GimbalError } from '@gimbal/core';
import { expect, test } from 'vitest';
import type { RunPart } from '../transport/run-frame.ts';
import { BatchRun } from './batch-run.ts';
import type { ModelSession } from './model-session.ts';
import type { OnnxValue } from './onnx-binding.ts';
import type { PreparedInput, TaskAdapter } from './tasks/task.ts';
import { aVersion } from './tasks/testing/a-version.ts';

const SIGNATURE: Signature = {
  inputs: [{ name: 'x', datatype: 'UINT8', shape: [-1, 1], axisNames: [null, null] }],
  outputs: [{ name: 'y', datatype: 'UINT8', shape: [-1, 1], axisNames: [null, null] }],
  batchAxis: 'dynamic',
};

/** A model that gives back what it gets, and what runs it was given. */
function echo(run: (data: Uint8Array) => Uint8Array = (data) => data.slice()): {
  session: ModelSession;
  runs: number[][];
} {
  const runs: number[][] = [];
  const session: ModelSession = {
    inputs: SIGNATURE.inputs,
    outputs: SIGNATURE.outputs,
    device: 'cpu',
    close: () => {},
    run: ({ x }) => {
      const data = (x as OnnxValue).data as Uint8Array;
      runs.push([...data]);
      const y = run(data);
      return { y: { type: 'uint8', data: y, dims: [y.length, 1] } };
    },
  };
  return { session, runs };
}

function encodedPart(value: number): RunPart {
  return { ...tensorPart(value), encoded: true, want: 'answer' };
}

function tensorPart(value: number): RunPart {
  return {
    encoded: false,
    want: 'tensors',
    parameters: { topK: 1, threshold: 0 },
    firstRow: 0,
    rows: 1,
    sliced: false,
    tensors: [{ bytes: new Uint8Array([value]), shape: [1, 1] }],
  };
}

function prepared(value: number): PreparedInput {
  return { tensors: [{ bytes: new Uint8Array([value]), shape: [1, 1] }], context: value };
}

const ADAPTER: TaskAdapter = {
  prepare: (bytes) => prepared(bytes[0] ?? 0),
  answer: ([y], _rows, _parameters, context) => Buffer.from(`${context?.context}->${y?.bytes[0]}`),
};

function batchRun(
  session: ModelSession,
  adapter: TaskAdapter = ADAPTER,
): { run: BatchRun; logged: unknown[] } {
  const logged: unknown[] = [];
  const model = { spec: aVersion({ signature: SIGNATURE }), session, signature: SIGNATURE, adapter };
  return { run: new BatchRun(model, (error) => logged.push(error)), logged };
}

function texts(results: readonly { kind: string }[]): string[] {
  return results.map((result) => {
    const { json, failure, outputs } = result as {
      json?: Uint8Array;
      failure?: { code: string };
      outputs?: readonly { bytes: Uint8Array }[];
    };
    if (json) return Buffer.from(json).toString();
    return failure?.code ?? `[${outputs?.[0]?.bytes}]`;
  });
}

test('Encoded parts and tensors of one shape share a run', async () => {
  const { session, runs } = echo();
  const { run } = batchRun(session);
  const { results } = await run.run([encodedPart(1), tensorPart(2), encodedPart(3)]);
  expect(runs).toEqual([[1, 2, 3]]);
  expect(texts(results)).toEqual(['1->1', '[2]', '3->3']);
});

test('Inputs are decoded together when the task waits for a library', async () => {
  const { session } = echo();
  const waiting: (() => void)[] = [];
  const adapter: TaskAdapter = {
    ...ADAPTER,
    prepare: (bytes) =>
      new Promise((resolve) => {
        waiting.push(() => resolve(prepared(bytes[0] ?? 0)));
        if (waiting.length === 2) for (const resume of waiting) resume();
      }),
  };
  const { run } = batchRun(session, adapter);
  const { results } = await run.run([encodedPart(4), encodedPart(5)]);
  expect(texts(results)).toEqual(['4->4', '5->5']);
});

test('An input that can not be decoded fails alone, whether at once or later', async () => {
  const { session, runs } = echo();
  const refusal = new GimbalError('UNSUPPORTED_MEDIA_TYPE', 'Cannot read the image: it is a PDF');
  const adapter: TaskAdapter = {
    ...ADAPTER,
    prepare: (bytes) => {
      if (bytes[0] === 0) throw refusal;
      return bytes[0] === 9 ? Promise.reject(refusal) : prepared(bytes[0] ?? 0);
    },
  };
  const { run, logged } = batchRun(session, adapter);
  const { results } = await run.run([encodedPart(0), encodedPart(1), encodedPart(9)]);
  expect(texts(results)).toEqual(['UNSUPPORTED_MEDIA_TYPE', '1->1', 'UNSUPPORTED_MEDIA_TYPE']);
  expect(runs).toEqual([[1]]);
  expect(logged).toEqual([]);
});

test('A failed run is halved until the culprits are found', async () => {
  const { session, runs } = echo((data) => {
    if (data.includes(13)) throw new Error('strange');
    return data.slice();
  });
  const { run } = batchRun(session);
  const { results } = await run.run([1, 2, 13, 4, 5, 6, 7, 8].map(tensorPart));
  expect(texts(results)).toEqual(['[1]', '[2]', 'MODEL_FAULT', '[4]', '[5]', '[6]', '[7]', '[8]']);
  expect(runs.length).toBe(7);
});

test('Outputs with another number of rows than the inputs reach nobody', async () => {
  const { session } = echo((data) => data.slice(1));
  const { run } = batchRun(session);
  const { results } = await run.run([1, 2].map(tensorPart));
  expect(texts(results)).toEqual(['OUTPUT_INVALID', 'OUTPUT_INVALID']);
});

test('A bug of the task is logged and told as internal', async () => {
  const { session } = echo();
  const adapter: TaskAdapter = {
    ...ADAPTER,
    answer: () => {
      throw new TypeError('secret detail');
    },
  };
  const { run, logged } = batchRun(session, adapter);
  const { results } = await run.run([encodedPart(1), tensorPart(2)]);
  expect(texts(results)).toEqual(['INTERNAL', '[2]']);
  expect(JSON.stringify(results)).not.toContain('secret');
  expect(logged).toHaveLength(1);
});

test('Items that the task pads are collated into one run', async () => {
  const { session, runs } = echo();
  const adapter: TaskAdapter = {
    ...ADAPTER,
    collate: (items) => [
      { bytes: Uint8Array.from(items, ({ context }) => (context as number) + 100), shape: [items.length, 1] },
    ],
  };
  const { run } = batchRun(session, adapter);
  const { results } = await run.run([encodedPart(1), encodedPart(2)]);
  expect(runs).toEqual([[101, 102]]);
  expect(texts(results)).toEqual(['1->101', '2->102']);
});

test('Runs of tensors alone are answered at once, without a promise', () => {
  const { session } = echo();
  const outcome = batchRun(session).run.run([tensorPart(1)]);
  expect(outcome).not.toBeInstanceOf(Promise);
});
