import { gunzip, inflate } from 'node:zlib';
import { GimbalError } from '@gimbal/core';
import { quoted } from './call-headers.ts';

/** What request bodies may be compressed with; `deflate` is the zlib format (RFC 9110, section 8.4.1). */
export type ContentCoding = 'gzip' | 'deflate';

/** Goes with the refusal of any other coding. */
export const ACCEPTED_CODINGS = 'Accept-Encoding: gzip, deflate\r\n';

/** Undefined for a plain body. Throws UNSUPPORTED_MEDIA_TYPE. */
export function codingOf(header: string | undefined): ContentCoding | undefined {
  if (header === undefined) return undefined;
  switch (header.trim().toLowerCase()) {
    case '':
    case 'identity':
      return undefined;
    case 'gzip':
    case 'x-gzip':
      return 'gzip';
    case 'deflate':
      return 'deflate';
    default:
      throw new GimbalError(
        'UNSUPPORTED_MEDIA_TYPE',
        `Cannot read the body: expected Content-Encoding gzip or deflate, got ${quoted(header)}`,
      );
  }
}

export interface Expansion {
  readonly coding: ContentCoding;
  /** Bytes after expansion; a bomb is stopped there. */
  readonly limitBytes: number;
  readonly onBody: (body: Uint8Array) => void;
  readonly onFail: (error: GimbalError) => void;
}

/** Expands a whole body off the event loop. The body is copied first: its view ends with the call. */
export function expand(body: Uint8Array, { coding, limitBytes, onBody, onFail }: Expansion): void {
  const start = coding === 'gzip' ? gunzip : inflate;
  start(Buffer.from(body), { maxOutputLength: limitBytes }, (error, expanded) => {
    if (!error) onBody(expanded);
    else onFail(expansionError(error, limitBytes, coding));
  });
}

function expansionError(
  error: NodeJS.ErrnoException,
  limitBytes: number,
  coding: ContentCoding,
): GimbalError {
  if (error.code === 'ERR_BUFFER_TOO_LARGE') {
    return new GimbalError(
      'INPUT_TOO_LARGE',
      `Cannot read the body: expected at most ${limitBytes} bytes after decompression, got more`,
    );
  }
  return new GimbalError('MALFORMED_REQUEST', `Cannot read the body: expected ${coding}, got broken data`);
}
