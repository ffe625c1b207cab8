import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { type ModelSession, openModelSession } from './model-session.ts';
import { openSample } from './testing/sample-models.ts';

const BROKEN = fileURLToPath(new URL('../../../../tests/fixtures/samples/broken-models/', import.meta.url));

function open(file: string, providers: readonly string[] = ['cpu']): ModelSession {
  return openModelSession({ file, threads: 1, providers });
}

const reasons: Readonly<Record<string, string>> = {
  'bfloat16.onnx': 'its input "X" is bfloat16, expected a datatype that the runtime can pass',
  'empty.onnx': 'the file is empty, expected an ONNX model',
  'external-data-escape.onnx':
    "its external data points outside the model's folder, expected a file beside the model",
  'external-data-missing.onnx': 'its external data file "missing.bin" is missing, expected beside the model',
  'not-a-model.onnx': 'the file is no ONNX model',
  'opset-999.onnx': 'it needs opset 999, expected at most 26',
  'truncated.onnx': 'the file is cut off or damaged, expected a whole ONNX model',
  'unknown-operator.onnx': 'the operator "com.example:DoesNotExist" is not known to the runtime',
};

describe('A model file that is broken is refused with its reason', () => {
  test('for every sample there is', () => {
    expect(Object.keys(reasons).sort()).toEqual(readdirSync(BROKEN).sort());
  });

  test.each(Object.entries(reasons))('%s', (name, reason) => {
    expect(() => open(join(BROKEN, name))).toThrow(`Cannot load the model: ${reason}`);
  });

  test('when there is no file', () => {
    expect(() => open(join(BROKEN, 'nothing.onnx'))).toThrow(
      "Cannot load the model: the file can't be opened",
    );
  });
});

describe('A model session', () => {
  test('reads names, datatypes, shapes and names of axes from the file', () => {
    const session = openSample('digits-mlp');
    expect(session.inputs).toEqual([
      { name: 'pixels', datatype: 'FP32', shape: [-1, 64], axisNames: ['batch', null] },
    ]);
    expect(session.outputs).toEqual([
      { name: 'label', datatype: 'INT64', shape: [-1], axisNames: ['batch'] },
      { name: 'probabilities', datatype: 'FP32', shape: [-1, 10], axisNames: ['batch', null] },
    ]);
  });

  test('takes the first provider that works, and says which', () => {
    const session = openSample('add-sub', ['no-such-provider', 'cpu']);
    expect(session.device).toBe('cpu');
  });

  test('fails when none works, without paths', () => {
    expect(() => openSample('add-sub', ['no-such-provider'])).toThrow(
      /^Cannot load the model: .*unsupported: 'no-such-provider'$/,
    );
  });
});
