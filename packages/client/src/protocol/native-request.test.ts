import { describe, expect, it } from 'vitest';
import { ValidationError } from '../errors.ts';
import { type NativePlan, nativeListRequest, nativeRequest } from './native-request.ts';

const JPEG = Uint8Array.of(0xff, 0xd8, 0xff, 0xe0, 1, 2, 3);
const PNG = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d);

function aPlan(change: Partial<NativePlan> = {}): NativePlan {
  return { parameters: {}, contentType: undefined, signal: undefined, ...change };
}

describe('bytes go raw', () => {
  it.each([
    ['a JPEG', JPEG, 'image/jpeg'],
    ['a PNG in a buffer', PNG.slice().buffer, 'image/png'],
    ['a WebP', new TextEncoder().encode('RIFF1234WEBPVP8 '), 'image/webp'],
    ['an AVIF', new TextEncoder().encode('0000ftypavif'), 'image/avif'],
    ['a GIF as a blob without a type', new Blob(['GIF89a…']), 'image/gif'],
    ['a file with a type', new Blob([JPEG], { type: 'image/heic' }), 'image/heic'],
    ['bytes that tell nothing', Uint8Array.of(1, 2, 3), 'application/octet-stream'],
  ])('with the type that they tell: %s', async (_what, input, type) => {
    const request = await nativeRequest(input, aPlan());
    expect(request.contentType).toBe(type);
    expect(request.body).not.toBeTypeOf('string');
  });

  it('with the type that the caller tells', async () => {
    const request = await nativeRequest(JPEG, aPlan({ contentType: 'image/x-own' }));
    expect(request.contentType).toBe('image/x-own');
    expect(request.body).toBe(JPEG);
  });

  it('with their parameters in the query', async () => {
    const request = await nativeRequest(JPEG, aPlan({ parameters: { top_k: 3, threshold: 0.5 } }));
    expect(request.query).toBe('?top_k=3&threshold=0.5');
  });

  it('out of a stream, which is kept so that it can be sent again', async () => {
    const stream = new Blob([JPEG, PNG]).stream();
    const request = await nativeRequest(stream, aPlan());
    expect(request).toMatchObject({ contentType: 'image/jpeg', body: Uint8Array.of(...JPEG, ...PNG) });
  });

  it('out of a bounded stream', async () => {
    let isCancelled = false;
    const stream = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(16 * 1024 * 1024)),
      cancel: () => {
        isCancelled = true;
      },
    });
    await expect(nativeRequest(stream, aPlan())).rejects.toThrow('expected at most 67108864 bytes');
    expect(isCancelled).toBe(true);
  });

  it('out of a stream that is left when the call is aborted', async () => {
    const abort = new AbortController();
    let isCancelled = false;
    const stream = new ReadableStream<Uint8Array>({
      cancel: () => {
        isCancelled = true;
      },
    });
    const reading = nativeRequest(stream, aPlan({ signal: abort.signal }));
    abort.abort();
    await reading;
    expect(isCancelled).toBe(true);
  });
});

describe('everything else goes as JSON', () => {
  const documentOf = async (input: unknown, plan = aPlan()): Promise<unknown> => {
    const { body, contentType } = await nativeRequest(input, plan);
    expect(contentType).toBe('application/json');
    return JSON.parse(body as string);
  };

  it('texts, rows, rows by name, with parameters', async () => {
    expect(await documentOf('hello')).toEqual({ input: 'hello' });
    expect(await documentOf([1, 2])).toEqual({ input: [1, 2] });
    expect(await documentOf({ a: 1 }, aPlan({ parameters: { top_k: 1 } }))).toEqual({
      input: { a: 1 },
      parameters: { top_k: 1 },
    });
  });

  it('typed arrays as lists, bigints as exact numbers, bytes inside as base64', async () => {
    expect(await documentOf(Float32Array.of(0.5, 2))).toEqual({ input: [0.5, 2] });
    expect(await documentOf({ a: BigInt64Array.of(7n), b: 8n })).toEqual({ input: { a: [7], b: 8 } });
    expect(await documentOf({ image: JPEG })).toEqual({ input: { image: '/9j/4AECAw==' } });
  });

  it('base64 is right at every length', async () => {
    for (const length of [0, 1, 2, 3, 0x6000 - 1, 0x6000, 0x6001, 100_000]) {
      const bytes = Uint8Array.from({ length }, (_, index) => index % 251);
      const { body } = await nativeListRequest([bytes], aPlan());
      expect(JSON.parse(body as string)).toEqual({ inputs: [Buffer.from(bytes).toString('base64')] });
    }
  });

  it('but not what JSON would change', async () => {
    for (const input of [
      Number.NaN,
      [Number.POSITIVE_INFINITY],
      Float32Array.of(Number.NaN),
      2n ** 53n + 1n,
    ]) {
      await expect(nativeRequest(input, aPlan())).rejects.toThrow(ValidationError);
    }
  });
});
