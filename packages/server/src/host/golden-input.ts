import { tensorByteLength, type VersionSpec, type WorkRequest } from '@gimbal/core';
import type { HostCall } from './call.ts';

/** Length of an axis that the model leaves free, in a made-up input. */
const FREE_LENGTH = 1;

/**
 * An input of our own, to find out whether a variant works: zeros in the smallest shape that the signature allows. It says
 * nothing of answers, only whether there are any. Memory is the call's.
 */
export function goldenRequest(spec: VersionSpec, call: HostCall): WorkRequest {
  const tensors = spec.signature.inputs.map(({ datatype, shape }) => {
    const lengths = shape.map((length) => (length < 0 ? FREE_LENGTH : length));
    const elements = lengths.reduce((product, length) => product * length, 1);
    // Texts: each is its length, 0, in four bytes.
    const byteLength = datatype === 'BYTES' ? elements * 4 : (tensorByteLength(datatype, lengths) ?? 0);
    const block = call.reserve(byteLength);
    block.bytes.fill(0);
    return { span: block.span, shape: lengths };
  });
  return {
    input: { kind: 'tensors', tensors },
    rows: 1,
    want: 'tensors',
    parameters: { topK: 1, threshold: 0 },
  };
}
