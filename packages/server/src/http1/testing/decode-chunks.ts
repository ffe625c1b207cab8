import { ChunkedDecoder } from '../chunked-decoder.ts';

/** What a chunked body that arrives in these pieces comes to. */
export function decodeChunks(pieces: readonly Buffer[]): Record<string, unknown> {
  const decoder = new ChunkedDecoder();
  let payload = '';
  let left = 0;
  let state = 'more';
  let code: string | undefined;
  for (const bytes of pieces) {
    if (state !== 'more') {
      left += bytes.length;
      continue;
    }
    const window = { bytes, at: 0, end: bytes.length };
    do {
      state = decoder.advance(window);
      if (state === 'payload') payload += bytes.toString('latin1', decoder.payloadStart, decoder.payloadEnd);
    } while (state === 'payload');
    left += window.end - window.at;
    if (state === 'refused') code = decoder.refusal.error.code;
  }
  return state === 'refused' ? { payload, state, code } : { payload, state, left };
}
