import type { Signature } from '@gimbal/core';
import type { PartFailure } from '../transport/part-result.ts';
import { publicText } from './failure-text.ts';

const OUT_OF_MEMORY = /bad_alloc|out of memory|failed to allocate|BFCArena|Array buffer allocation failed/i;
/** What CUDA and its libraries say of themselves; the input has no part in it. */
const DEVICE = /\bCUDA (?:failure|error)|CUDNN|CUBLAS|cudaError|device-side assert/i;
/** What the runtime says when a value or a shape of the input itself is impossible. */
const BAD_INPUT = /out of (?:data )?bounds|out of range|invalid (?:dimensions|rank|index)/i;
/** What it says when lengths of axes don't fit together: the client's doing when those axes are free. */
const BAD_SHAPE = /cannot be reshaped|broadcast|incompatible dimensions|mismatch|dimension/i;

/** What a failed run of one item means for its client. */
export function runFailure(error: unknown, signature: Signature): PartFailure {
  const message = error instanceof Error ? error.message : String(error);
  if (OUT_OF_MEMORY.test(message)) {
    return failure('OUT_OF_MEMORY', 'Cannot run the model: it ran out of memory on this input');
  }
  if (DEVICE.test(message)) return failure('DEVICE_FAULT', 'Cannot run the model: its device failed');
  const text = publicText(message);
  if (BAD_INPUT.test(message) || (BAD_SHAPE.test(message) && hasFreeAxes(signature))) {
    return failure('INVALID_INPUT', `Cannot run the model on this input: ${text}`);
  }
  return failure('MODEL_FAULT', `Cannot run the model: ${text}`);
}

function failure(code: PartFailure['code'], message: string): PartFailure {
  return { code, message, fields: [] };
}

/** Whether a client chooses any length but the number of rows. */
function hasFreeAxes({ inputs, batchAxis }: Signature): boolean {
  const first = batchAxis === 'dynamic' ? 1 : 0;
  return inputs.some(({ shape }) => shape.slice(first).includes(-1));
}
