import { toGimbalError } from '@gimbal/core';
import { describe, expect, it } from 'vitest';
import { aTensorSpec, aVersionSpec } from '../testing/fake-model.ts';
import { readInferMessage } from './infer-message.ts';
import { planInfer, timeoutMicrosOf } from './infer-plan.ts';
import type { Message } from './protocol.ts';
import { METHODS } from './testing/grpc-bench.ts';

const SPEC = aVersionSpec({
  signature: {
    inputs: [aTensorSpec('A', 'FP16', [-1, 2]), aTensorSpec('B', 'INT8', [-1, 1])],
    outputs: [aTensorSpec('Y', 'FP32', [-1, 2]), aTensorSpec('T', 'BYTES', [-1, 1])],
    batchAxis: 'dynamic',
  },
});
const A = { name: 'A', datatype: 'FP16', shape: [2, 2] };
const B = { name: 'B', datatype: 'INT8', shape: [2, 1] };
const RAW = [Buffer.alloc(8), Buffer.alloc(2)];

function planned(message: Message) {
  const bytes = METHODS.ModelInfer?.requestSerialize(message) as Buffer;
  return planInfer(readInferMessage(bytes), SPEC);
}

type Refusal = readonly [what: string, code: string, message: RegExp, request: Message];
const GOOD = { inputs: [A, B], raw_input_contents: RAW };
const REFUSALS: readonly Refusal[] = [
  ['no inputs', 'INVALID_INPUT', /input "A" is missing/, {}],
  [
    'an unknown input',
    'INVALID_INPUT',
    /unexpected inference input/,
    { ...GOOD, inputs: [{ ...A, name: 'C' }, B] },
  ],
  ['an input twice', 'MALFORMED_REQUEST', /twice/, { ...GOOD, inputs: [A, A] }],
  [
    'an input without name',
    'MALFORMED_REQUEST',
    /has no "name"/,
    { ...GOOD, inputs: [{ ...A, name: '' }, B] },
  ],
  [
    'an unknown datatype',
    'INVALID_INPUT',
    /got "BF16"/,
    { ...GOOD, inputs: [{ ...A, datatype: 'BF16' }, B] },
  ],
  ['a negative length', 'INVALID_INPUT', /at least 0/, { ...GOOD, inputs: [{ ...A, shape: [-1, 2] }, B] }],
  [
    'other batches',
    'INVALID_INPUT',
    /axis 0 must be the same/,
    { ...GOOD, inputs: [A, { ...B, shape: [3, 1] }] },
  ],
  [
    'too few raw entries',
    'MALFORMED_REQUEST',
    /1 entries/,
    { ...GOOD, raw_input_contents: [Buffer.alloc(8)] },
  ],
  [
    'raw entries of another length',
    'INVALID_INPUT',
    /expected 8 bytes for FP16 \[2, 2\], got 7/,
    { ...GOOD, raw_input_contents: [Buffer.alloc(7), RAW[1]] },
  ],
  [
    'raw and typed elements at once',
    'MALFORMED_REQUEST',
    /"contents" beside "raw_input_contents"/,
    { ...GOOD, inputs: [A, { ...B, contents: { int_contents: [1, 2] } }] },
  ],
  [
    'FP16 in contents',
    'INVALID_INPUT',
    /receiving FP16 data in "contents" is not supported/,
    {
      inputs: [
        { ...A, contents: { fp32_contents: [1, 2, 3, 4] } },
        { ...B, contents: { int_contents: [1, 2] } },
      ],
    },
  ],
  [
    'shared memory',
    'UNSUPPORTED',
    /shared-memory/,
    { ...GOOD, inputs: [{ ...A, parameters: { shared_memory_region: { string_param: 'r' } } }, B] },
  ],
  ['a sequence', 'UNSUPPORTED', /sequence/, { ...GOOD, parameters: { sequence_id: { uint64_param: '7' } } }],
  [
    'an unknown output',
    'INVALID_INPUT',
    /unexpected inference output/,
    { ...GOOD, outputs: [{ name: 'Z' }] },
  ],
  [
    'classes of texts',
    'INVALID_INPUT',
    /Cannot classify output "T"/,
    { ...GOOD, outputs: [{ name: 'T', parameters: { classification: { int64_param: '3' } } }] },
  ],
];

describe('planInfer', () => {
  it('takes raw elements of every input, FP16 included, in any order', () => {
    const plan = planned({ inputs: [B, A], raw_input_contents: [RAW[1], RAW[0]], id: 'x' });
    expect(plan.rows).toBe(2);
    expect(plan.inputs.map(({ name, byteLength }) => [name, byteLength])).toEqual([
      ['B', 2],
      ['A', 8],
    ]);
  });

  it.each(REFUSALS)('refuses %s', (_what, code, message, request) => {
    let thrown: unknown;
    try {
      planned(request);
    } catch (error) {
      thrown = error;
    }
    const error = toGimbalError(thrown);
    expect(error.message).toMatch(message);
    expect(error.code).toBe(code);
  });
});

describe('timeoutMicrosOf', () => {
  it('takes either integer type and text; 0 is no limit', () => {
    for (const choice of [{ int64_param: '500' }, { uint64_param: '500' }, { string_param: '500' }]) {
      const bytes = METHODS.ModelInfer?.requestSerialize({ parameters: { timeout: choice } }) as Buffer;
      expect(timeoutMicrosOf(readInferMessage(bytes).parameters)).toBe(500);
    }
    expect(timeoutMicrosOf(new Map([['timeout', 0]]))).toBeUndefined();
    expect(timeoutMicrosOf(new Map())).toBeUndefined();
    expect(() => timeoutMicrosOf(new Map([['timeout', true]]))).toThrow(/expected microseconds/);
    expect(() => timeoutMicrosOf(new Map([['timeout', -1]]))).toThrow(/expected microseconds/);
  });
});
