import type { BatchJob, Datatype, JobPart, Signature } from '@gimbal/core';
import { expect, test } from 'vitest';
import type { ReceivedReport } from '../transport/report-frame.ts';
import { OutputEstimate } from './output-estimate.ts';

function signature(datatype: Datatype, shape: readonly number[]): Signature {
  return {
    inputs: [],
    outputs: [{ name: 'y', datatype, shape, axisNames: shape.map(() => null) }],
    batchAxis: 'dynamic',
  };
}

function job(rows: number, want: JobPart['want'] = 'tensors'): BatchJob {
  const parameters = { topK: 1, threshold: 0 };
  const input = { kind: 'tensors', tensors: [] } as const;
  return { id: 1, parts: [{ input, rows, firstRow: 0, sliced: false, want, parameters }] };
}

function report(bytes: number, want: JobPart['want'] = 'tensors'): ReceivedReport {
  return {
    batchId: 1,
    preprocessMs: 0,
    inferMs: 0,
    postprocessMs: 0,
    residentBytes: 0,
    parts: [{ ok: true, output: { kind: 'tensors', rows: 1, outputs: [] } }],
    tensorBytes: want === 'tensors' ? bytes : 0,
    answerBytes: want === 'answer' ? bytes : 0,
  };
}

test('OutputEstimate knows fixed shapes from the signature', () => {
  const estimate = new OutputEstimate(signature('FP32', [-1, 1000]));
  expect(estimate.bytesFor(job(4))).toBeGreaterThanOrEqual(16_000);
  expect(estimate.bytesFor(job(4))).toBeLessThan(17_000);
});

test('OutputEstimate lends nothing for outputs that travel cheaper in the report', () => {
  expect(new OutputEstimate(signature('FP32', [-1, 10])).bytesFor(job(8))).toBe(0);
});

test('OutputEstimate learns free shapes and answers from the last batch, with headroom', () => {
  const estimate = new OutputEstimate(signature('BYTES', [-1, -1]));
  expect(estimate.bytesFor(job(2))).toBe(0);
  estimate.learn(job(2), report(10_000));
  expect(estimate.bytesFor(job(2))).toBeGreaterThanOrEqual(15_000);
  expect(estimate.bytesFor(job(2, 'answer'))).toBe(0);
  estimate.learn(job(1, 'answer'), report(20_000, 'answer'));
  expect(estimate.bytesFor(job(1, 'answer'))).toBeGreaterThanOrEqual(30_000);
});
