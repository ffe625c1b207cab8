import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeChunks } from './testing/decode-chunks.ts';

describe('ChunkedDecoder', () => {
  it('gives back any payload, however it is chunked and split', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 8 }),
        fc.array(fc.nat(), { maxLength: 10 }),
        (chunks, cuts) => {
          const body = Buffer.concat([
            ...chunks.map((chunk) =>
              Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]),
            ),
            Buffer.from('0\r\nA: b\r\n\r\n'),
          ]);
          const payload = Buffer.concat(chunks).toString('latin1');
          expect(decodeChunks(split(body, cuts))).toEqual({ payload, state: 'ended', left: 0 });
        },
      ),
      { numRuns: 500 },
    );
  });

  it('gives the same outcome of any bytes, however they are split', () => {
    const bytes = fc.array(fc.constantFrom(...Buffer.from('0123aF;\r\n\r\n: x\x00')), { maxLength: 60 });
    fc.assert(
      fc.property(bytes, fc.array(fc.nat(), { maxLength: 10 }), (given, cuts) => {
        const body = Buffer.from(given);
        expect(decodeChunks(split(body, cuts))).toEqual(decodeChunks([body]));
      }),
      { numRuns: 2000 },
    );
  });
});

function split(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((left, right) => left - right);
  return [0, ...at].map((start, index) => bytes.subarray(start, at[index] ?? bytes.length));
}
