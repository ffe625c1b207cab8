import type { Signature } from '@gimbal/core';
import { describe, expect, test } from 'vitest';
import { publicText } from './failure-text.ts';
import { runFailure } from './run-failure.ts';

test.each([
  [
    "Non-zero status code returned while running Gather node. Name:'' Status Message: indices element out of data bounds, idx=9999 must be within the inclusive range [-10,9]",
    'operator Gather: indices element out of data bounds, idx=9999 must be within the inclusive range [-10,9]',
  ],
  [
    "Non-zero status code returned while running Reshape node. Name:'reshape' Status Message: /onnxruntime_src/onnxruntime/core/providers/cpu/tensor/reshape_helper.h:47 onnxruntime::ReshapeHelper::ReshapeHelper(const onnxruntime::TensorShape&, onnxruntime::TensorShapeVector&, bool) size != 0 && (input_shape_size % size) == 0 was false. The input tensor cannot be reshaped to the requested shape. Input shape:{1,5}, requested shape:{1,-1,4}\n",
    'operator Reshape: size != 0 && (input_shape_size % size) == 0 was false. The input tensor cannot be reshaped to the requested shape. Input shape:{1,5}, requested shape:{1,-1,4}',
  ],
  [
    'Load model from /srv/models/secret/model.onnx failed: strange',
    'Load model from model.onnx failed: strange',
  ],
  ['\u001b[1;31mred\u001b[m', 'red'],
])('publicText of %j', (message, text) => {
  expect(publicText(message)).toBe(text);
});

test('publicText cuts what is very long', () => {
  expect(publicText('x'.repeat(10_000)).length).toBeLessThan(310);
});

describe('runFailure', () => {
  const signature = (shape: number[]): Signature => ({
    inputs: [{ name: 'x', datatype: 'FP32', shape, axisNames: shape.map(() => null) }],
    outputs: [],
    batchAxis: 'dynamic',
  });

  test('blames the input for shapes that do not fit only when the client chose them', () => {
    const error = new Error('The input tensor cannot be reshaped to the requested shape');
    expect(runFailure(error, signature([-1, -1])).code).toBe('INVALID_INPUT');
    expect(runFailure(error, signature([-1, 5])).code).toBe('MODEL_FAULT');
  });

  test.each([
    'std::bad_alloc',
    'BFCArena::AllocateRawInternal Failed to allocate memory for requested buffer of size 9',
  ])('takes %j for a lack of memory', (message) => {
    expect(runFailure(new Error(message), signature([-1])).code).toBe('OUT_OF_MEMORY');
  });
});
