import { deflate, gzip } from 'node:zlib';
import { qualityOf } from '../front/accept-quality.ts';

/** What an answer may be compressed with; only inference answers are, as Triton has it. */
export type AnswerCoding = 'identity' | 'gzip' | 'deflate';

/** The coding that the client prefers, by q-value; the first of equals wins. No wish: no compression. */
export function answerCoding(acceptEncoding: string | undefined): AnswerCoding {
  let best: AnswerCoding = 'identity';
  let bestQuality = 0;
  for (const range of (acceptEncoding ?? '').split(',')) {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    if (name !== 'identity' && name !== 'gzip' && name !== 'deflate') continue;
    const quality = qualityOf(parameters);
    if (quality > bestQuality) {
      best = name;
      bestQuality = quality;
    }
  }
  return best;
}

/** Compresses off the event loop. */
export function compress(
  coding: Exclude<AnswerCoding, 'identity'>,
  pieces: readonly Uint8Array[],
  onDone: (error: Error | null, body: Uint8Array) => void,
): void {
  (coding === 'gzip' ? gzip : deflate)(Buffer.concat(pieces), onDone);
}
