import type { FaultOrder, RunnerFault } from '@gimbal/core';
import { describe, expect, it } from 'vitest';
import type { PartResult } from '../transport/part-result.ts';
import type { RunPart } from '../transport/run-frame.ts';
import type { BatchOutcome } from './batch-run.ts';
import { InjectedFaults } from './injected-faults.ts';
import type { ModelSession } from './model-session.ts';
import type { OnnxValue } from './onnx-binding.ts';

/** A runner whose runs take 10 ms of a clock that only moves when something takes time. */
class FaultBench {
  now = 0;
  paused = 0;
  readonly exits: number[] = [];
  readonly faults = new InjectedFaults({
    now: () => this.now,
    pause: (ms) => {
      this.paused += ms;
      this.now += ms;
    },
    exit: (code) => {
      this.exits.push(code);
    },
  });
  readonly #session = this.faults.session({
    inputs: [],
    outputs: [],
    device: 'cpu',
    run: () => {
      this.now += 10;
      const scores: OnnxValue = { type: 'float32', data: new Float32Array([1, 2]), dims: [1, 2] };
      const label: OnnxValue = { type: 'int64', data: new BigInt64Array([7n]), dims: [1] };
      return { scores, label };
    },
    close: () => {},
  } satisfies ModelSession);
  outputs: Readonly<Record<string, OnnxValue>> = {};

  inject(fault: RunnerFault, terms: Partial<FaultOrder> = {}): void {
    this.faults.take({ id: 1, fault, batches: 100, durationMs: 1000, ...terms });
  }

  run(parts: readonly RunPart[] = [aPart()]): readonly PartResult[] {
    const outcome = this.faults.run(parts, () => {
      this.outputs = this.#session.run({});
      return {
        results: parts.map(() => ({ kind: 'answer', json: new Uint8Array() })),
        times: { preprocessMs: 0, inferMs: 10, postprocessMs: 0 },
      };
    });
    return (outcome as BatchOutcome).results;
  }
}

function aPart(bytes: readonly number[] = [0, 0], rows = 1): RunPart {
  return {
    encoded: false,
    want: 'answer',
    parameters: { topK: 1, threshold: 0 },
    firstRow: 0,
    rows,
    sliced: false,
    tensors: [{ bytes: Uint8Array.from(bytes), shape: [1, 2] }],
  };
}

describe('An injected fault', () => {
  it('that drags makes runs longer by its factor and its addition', () => {
    const bench = new FaultBench();
    bench.inject({ kind: 'slow', factor: 3, addMs: 5 });
    bench.run();
    expect(bench.now).toBe(35);
  });

  it('that hangs blocks until it ends', () => {
    const bench = new FaultBench();
    bench.inject({ kind: 'hang' }, { durationMs: 400 });
    bench.now = 100;
    bench.run();
    expect(bench.paused).toBe(300);
  });

  it('that crashes ends the process', () => {
    const bench = new FaultBench();
    bench.inject({ kind: 'crash' });
    bench.run();
    expect(bench.exits).toEqual([139]);
  });

  it('of one input leaves others alone, and finds it anywhere in the batch', () => {
    const bench = new FaultBench();
    bench.inject({ kind: 'crash', inputPrefix: '0d07' });
    bench.run([aPart([13, 8]), aPart([7, 13])]);
    expect(bench.exits).toEqual([]);
    bench.run([aPart([1, 2]), aPart([13, 7, 9])]);
    expect(bench.exits).toEqual([139]);
  });

  it('that fails inputs does so exactly in its ratio, also over several batches', () => {
    const bench = new FaultBench();
    bench.inject({ kind: 'fail', ratio: 0.25, code: 'MODEL_FAULT' });
    const parts = Array.from({ length: 6 }, () => aPart());
    const results = [...bench.run(parts), ...bench.run(parts)];
    const failed = results.filter((result) => result.kind === 'failed');
    expect(failed).toHaveLength(3);
    expect(failed[0]).toMatchObject({ failure: { code: 'MODEL_FAULT' } });
  });

  it('for want of memory fails batches with more rows than fit, whole', () => {
    const bench = new FaultBench();
    bench.inject({ kind: 'out-of-memory', aboveRows: 3 });
    expect(bench.run([aPart([0], 2), aPart([0], 1)]).every(({ kind }) => kind === 'answer')).toBe(true);
    expect(bench.run([aPart([0], 2), aPart([0], 2)])).toMatchObject([
      { failure: { code: 'OUT_OF_MEMORY' } },
      { failure: { code: 'OUT_OF_MEMORY' } },
    ]);
  });

  it('of a lost device fails the run itself', () => {
    const bench = new FaultBench();
    bench.inject({ kind: 'device-loss' });
    expect(() => bench.run()).toThrow('the device is gone');
  });

  it('of its numbers spoils floats and leaves whole numbers', () => {
    const bench = new FaultBench();
    bench.inject({ kind: 'non-finite' });
    bench.run();
    expect(bench.outputs.scores?.data).toEqual(new Float32Array([Number.NaN, Number.NaN]));
    expect(bench.outputs.label?.data).toEqual(new BigInt64Array([7n]));
  });

  it('touches no more batches than it may', () => {
    const bench = new FaultBench();
    bench.inject({ kind: 'fail', ratio: 1, code: 'MODEL_FAULT' }, { batches: 2 });
    const kinds = [1, 2, 3].map(() => bench.run()[0]?.kind);
    expect(kinds).toEqual(['failed', 'failed', 'answer']);
  });

  it('ends by its time, or when it is told to', () => {
    const bench = new FaultBench();
    const failing: RunnerFault = { kind: 'fail', ratio: 1, code: 'MODEL_FAULT' };
    bench.inject(failing, { durationMs: 50 });
    expect(bench.run()[0]?.kind).toBe('failed');
    bench.now = 50;
    expect(bench.run()[0]?.kind).toBe('answer');
    bench.inject(failing, { id: 2 });
    expect(bench.run()[0]?.kind).toBe('failed');
    bench.faults.end(2);
    expect(bench.run()[0]?.kind).toBe('answer');
  });
});
