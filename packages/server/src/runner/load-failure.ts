import { type ErrorCode, GimbalError, isGimbalError } from '@gimbal/core';
import { publicText } from './failure-text.ts';

/** First byte of every ONNX file in practice: the protobuf tag of its format version. */
const ONNX_FIRST_BYTE = 0x08;

interface Reason {
  readonly pattern: RegExp;
  readonly text: (match: RegExpExecArray) => string;
}

const REASONS: readonly Reason[] = [
  {
    pattern: /External data path does not exist: "(?:[^"]*[\\/])?([^"\\/]+)"/,
    text: ([, file]) => `its external data file "${file}" is missing, expected beside the model`,
  },
  {
    pattern: /External data path escapes/,
    text: () => "its external data points outside the model's folder, expected a file beside the model",
  },
  {
    pattern: /Opset (\d+) is under development.*till opset (\d+)/s,
    text: ([, got, newest]) => `it needs opset ${got}, expected at most ${newest}`,
  },
  {
    pattern: /Unsupported model IR version: (\d+), max supported IR version: (\d+)/,
    text: ([, got, newest]) => `its format version is ${got}, expected at most ${newest}`,
  },
  {
    pattern: /([\w.:-]+)\(-?\d+\) is not a registered function\/op/,
    text: ([, operator]) => `the operator "${operator}" is not known to the runtime`,
  },
  { pattern: /does not have a graph/, text: () => 'it has no graph, expected an ONNX model' },
  {
    pattern: /File doesn't exist|No such file/,
    text: () => 'the file does not exist',
  },
];

/** A load failure as a public MODEL_UNAVAILABLE (or OUT_OF_MEMORY) error. `start` is how the file begins. */
export function loadFailure(error: unknown, start: Uint8Array): GimbalError {
  if (isGimbalError(error)) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (/bad_alloc|out of memory|failed to allocate/i.test(message)) {
    return unavailable('there is not enough memory for it', error, 'OUT_OF_MEMORY');
  }
  if (/Protobuf parsing failed/.test(message)) return unavailable(unparsable(start), error);
  for (const { pattern, text } of REASONS) {
    const match = pattern.exec(message);
    if (match) return unavailable(text(match), error);
  }
  return unavailable(publicText(message), error);
}

export function unavailable(
  reason: string,
  cause?: unknown,
  code: ErrorCode = 'MODEL_UNAVAILABLE',
): GimbalError {
  return new GimbalError(code, `Cannot load the model: ${reason}`, { cause });
}

function unparsable(start: Uint8Array): string {
  return start[0] === ONNX_FIRST_BYTE
    ? 'the file is cut off or damaged, expected a whole ONNX model'
    : 'the file is no ONNX model';
}
