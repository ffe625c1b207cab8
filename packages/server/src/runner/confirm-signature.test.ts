import { expect, test } from 'vitest';
import { confirmSignature } from './model-session.ts';
import { aTensor, aVersion } from './tasks/testing/a-version.ts';
import { openSample } from './testing/sample-models.ts';

const DIGITS = {
  inputs: [{ ...aTensor('pixels', 'FP32', [-1, 64]) }],
  outputs: [aTensor('label', 'INT64', [-1]), aTensor('probabilities', 'FP32', [-1, 10])],
  batchAxis: 'dynamic' as const,
};

test('The best variant must have the signature that was read from its file', () => {
  const session = openSample('digits-mlp');
  const other = { ...DIGITS, inputs: [aTensor('pixels', 'FP32', [-1, 65])] };
  expect(confirmSignature(session, aVersion({ signature: DIGITS }), 0).batchAxis).toBe('dynamic');
  expect(() => confirmSignature(session, aVersion({ signature: other }), 0)).toThrow(
    'Cannot load the model: its input "pixels" has the shape [-1,64], expected [-1,65]',
  );
});

test('The signature keeps the order of the version, not of the file', () => {
  const session = openSample('digits-mlp');
  const swapped = { ...DIGITS, outputs: DIGITS.outputs.toReversed() };
  const { outputs } = confirmSignature(session, aVersion({ signature: swapped }), 0);
  expect(outputs.map(({ name }) => name)).toEqual(['probabilities', 'label']);
});

test('A lower rung may have other names and sizes, but must take and give the same datatypes', () => {
  const session = openSample('digits-mlp');
  const wider = { ...DIGITS, inputs: [aTensor('image', 'FP32', [-1, 3, 8, 8])] };
  expect(confirmSignature(session, aVersion({ signature: wider }), 1).inputs[0]?.name).toBe('pixels');
  const integers = { ...DIGITS, inputs: [aTensor('pixels', 'INT32', [-1, 64])] };
  expect(() => confirmSignature(session, aVersion({ signature: integers }), 1)).toThrow(
    'its input "pixels" is FP32, expected INT32',
  );
});
