import { GimbalError } from '../errors/gimbal-error.ts';

/** The runner was lost after pieces had left: another run could say something else. */
export function interrupted(error: GimbalError): GimbalError {
  return new GimbalError(
    'STREAM_INTERRUPTED',
    `Cannot go on with the stream: ${error.message}; its pieces have been sent, so that it is not run again, expected the caller to ask anew`,
    { cause: error },
  );
}

export function streamTooLong(maxDurationMs: number): GimbalError {
  return new GimbalError(
    'STREAM_LIMIT',
    `Cannot go on with the stream: it was not complete within ${maxDurationMs} ms of its first piece, expected a shorter one, a faster reader, or a higher stream.maxDurationMs`,
  );
}

export function streamTooLarge({ bytes, maxBytes }: { bytes: number; maxBytes: number }): GimbalError {
  return new GimbalError(
    'STREAM_LIMIT',
    `Cannot go on with the stream: its pieces have ${bytes} bytes, expected at most ${maxBytes} (stream.maxBytes)`,
  );
}
