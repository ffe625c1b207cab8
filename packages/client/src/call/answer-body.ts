import { AnswerError } from '../errors.ts';

/** A whole body, at most so many bytes of it. Throws an AnswerError beyond, and what the stream throws. */
export async function readAnswer(response: Response, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const announced = Number(response.headers.get('content-length') ?? 0);
  if (announced > maxBytes) throw tooLarge(maxBytes, announced);
  if (response.body === null) return new Uint8Array(0);
  const reader = response.body.getReader() as ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let byteLength = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    byteLength += next.value.length;
    if (byteLength > maxBytes) {
      reader.cancel().catch(() => {});
      throw tooLarge(maxBytes, byteLength);
    }
    chunks.push(next.value);
  }
  return joined(chunks, byteLength);
}

export function joined(
  chunks: readonly Uint8Array<ArrayBuffer>[],
  byteLength: number,
): Uint8Array<ArrayBuffer> {
  const [only] = chunks;
  if (chunks.length === 1 && only) return only;
  const whole = new Uint8Array(byteLength);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

function tooLarge(maxBytes: number, got: number): AnswerError {
  return new AnswerError(`Cannot read the answer: expected at most ${maxBytes} bytes, got ${got} or more`, {
    code: 'BAD_ANSWER',
  });
}
