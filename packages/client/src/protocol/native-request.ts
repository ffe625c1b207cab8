import { joined } from '../call/answer-body.ts';
import type { RequestBody } from '../call/call-request.ts';
import { ValidationError } from '../errors.ts';
import type { ParameterValue } from '../infer-options.ts';
import { imageTypeOf } from './image-signature.ts';

/** What a request of the native API sends. */
export interface NativeRequest {
  /** With its question mark; "" for none. */
  readonly query: string;
  readonly contentType: string;
  readonly body: RequestBody;
}

export interface NativePlan {
  readonly parameters: Readonly<Record<string, ParameterValue>>;
  readonly contentType: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/** The server's usual body limit: a stream is kept whole, so that it can be sent again. */
const MAX_STREAM_BYTES = 64 * 1024 * 1024;
/** Bytes that become one string at a time: engines bound the number of arguments. */
const BASE64_CHUNK = 0x6000;
const FIRST_BYTES = 16;

/** Bytes go raw, everything else as JSON. Throws a ValidationError for what JSON cannot say. */
export async function nativeRequest(input: unknown, plan: NativePlan): Promise<NativeRequest> {
  const bytes = await bytesOf(input, plan.signal);
  if (bytes === undefined) {
    return jsonRequest({ input }, plan);
  }
  return { query: queryOf(plan), contentType: plan.contentType ?? (await typeOf(bytes)), body: bytes };
}

/** Several inputs in one request; bytes become base64, since one body holds them all. */
export async function nativeListRequest(
  inputs: readonly unknown[],
  plan: NativePlan,
): Promise<NativeRequest> {
  const encoded: unknown[] = [];
  for (const input of inputs) {
    const bytes = await bytesOf(input, plan.signal);
    encoded.push(
      bytes === undefined
        ? input
        : base64Of(bytes instanceof Blob ? new Uint8Array(await bytes.arrayBuffer()) : bytes),
    );
  }
  return jsonRequest({ inputs: encoded }, plan);
}

function jsonRequest(members: object, { parameters }: NativePlan): NativeRequest {
  const document = Object.keys(parameters).length === 0 ? members : { ...members, parameters };
  return { query: '', contentType: 'application/json', body: JSON.stringify(document, jsonValue) };
}

async function bytesOf(
  input: unknown,
  signal: AbortSignal | undefined,
): Promise<Blob | Uint8Array<ArrayBuffer> | undefined> {
  if (input instanceof Blob) return input;
  // A view of shared memory is copied: `fetch` does not take it, and it could change between attempts.
  if (input instanceof Uint8Array) {
    return input.buffer instanceof ArrayBuffer ? (input as Uint8Array<ArrayBuffer>) : new Uint8Array(input);
  }
  if (input instanceof ArrayBuffer) return new Uint8Array(input);
  if (input instanceof ReadableStream) return await readStream(input, signal);
  return undefined;
}

async function readStream(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  signal: AbortSignal | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = stream.getReader();
  const stop = (): void => {
    reader.cancel(signal?.reason).catch(() => {});
  };
  if (signal?.aborted) stop();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    let byteLength = 0;
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      byteLength += next.value.length;
      if (byteLength > MAX_STREAM_BYTES) {
        stop();
        throw new ValidationError(
          `Cannot send the stream: expected at most ${MAX_STREAM_BYTES} bytes, got more`,
        );
      }
      chunks.push(next.value);
    }
    return joined(chunks, byteLength);
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

async function typeOf(bytes: Blob | Uint8Array): Promise<string> {
  if (bytes instanceof Blob && bytes.type !== '') return bytes.type;
  const first =
    bytes instanceof Blob
      ? new Uint8Array(await bytes.slice(0, FIRST_BYTES).arrayBuffer())
      : bytes.subarray(0, FIRST_BYTES);
  return imageTypeOf(first) ?? 'application/octet-stream';
}

function queryOf({ parameters }: NativePlan): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) query.set(name, String(value));
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

/** Typed arrays are lists, bytes inside an object are base64; what JSON would change silently is refused. */
function jsonValue(_name: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return base64Of(value);
  if (typeof value === 'bigint') return exactNumber(value);
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new ValidationError(`Cannot send ${value} as JSON: send it in a tensor`);
  }
  if (value instanceof BigInt64Array || value instanceof BigUint64Array)
    return Array.from(value, exactNumber);
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    return Array.from(value as unknown as ArrayLike<number>);
  }
  return value;
}

function exactNumber(value: bigint): number {
  const number = Number(value);
  if (BigInt(number) === value) return number;
  throw new ValidationError(`Cannot send ${value} as JSON: send it in an INT64 tensor`);
}

function base64Of(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += BASE64_CHUNK) {
    binary += String.fromCharCode(...bytes.subarray(at, at + BASE64_CHUNK));
  }
  return btoa(binary);
}
