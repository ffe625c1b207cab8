import {
  byteSizeOf,
  ERROR_CODES,
  type ErrorCode,
  type FieldError,
  type JobPart,
  type PartReport,
  type Signature,
  STREAMED,
  type TensorOutput,
} from '@gimbal/core';
import type { FrameBuffer } from './frame-buffer.ts';
import { type FrameCursor, MalformedFrame } from './frame-cursor.ts';
import { aligned, MAX_PARTS, readShape, writeShape } from './run-frame.ts';
import { elementCount } from './tensor-rows.ts';

const TENSORS = 0;
const ANSWER = 1;
const FAILED = 2;
const STREAM_ENDED = 3;
/** Where bytes are: in the output space that the host lent, or in the frame itself. */
const IN_SPACE = 0;
const IN_FRAME = 1;

/** Longest text of an error, in bytes: its fields included. */
const MAX_ERROR_BYTES = 64 * 1024;

export interface PartFailure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly fields: readonly FieldError[];
}

/** What a runner has to say of a part. Bytes may be of any memory: writing the report copies them. */
export type PartResult =
  | { readonly kind: 'tensors'; readonly rows: number; readonly outputs: readonly TensorOutput[] }
  | { readonly kind: 'answer'; readonly json: Uint8Array }
  /** All its pieces have been sent. */
  | { readonly kind: 'streamed' }
  | { readonly kind: 'failed'; readonly failure: PartFailure };

/**
 * Writes results to the end of a frame. Outputs are copied once: into the host's output space as long as there is room,
 * then into the frame. `space` is undefined when the host lent none.
 */
export function writeResults(
  frame: FrameBuffer,
  { results, space }: { results: readonly PartResult[]; space: Uint8Array | undefined },
): void {
  const placer = new Placer(frame, space);
  frame.u32(results.length);
  for (const result of results) {
    switch (result.kind) {
      case 'tensors':
        frame.u32(TENSORS);
        frame.u32(result.rows);
        frame.u32(result.outputs.length);
        for (const output of result.outputs) {
          placer.place(output.bytes);
          writeShape(frame, output.shape);
        }
        break;
      case 'answer':
        frame.u32(ANSWER);
        placer.place(result.json);
        break;
      case 'streamed':
        frame.u32(STREAM_ENDED);
        break;
      case 'failed':
        frame.u32(FAILED);
        placer.inline(errorText(result.failure));
        break;
    }
  }
  placer.finish();
}

/** Bytes of outputs, as they lie in a frame. */
export function resultBytes(results: readonly PartResult[]): number {
  let total = 0;
  for (const result of results) {
    if (result.kind === 'answer') total += aligned(result.json.length);
    if (result.kind === 'tensors') for (const { bytes } of result.outputs) total += aligned(bytes.length);
  }
  return total;
}

class Placer {
  readonly #frame: FrameBuffer;
  readonly #space: Uint8Array | undefined;
  #spaceUsed = 0;
  readonly #inline: Uint8Array[] = [];
  #inlineBytes = 0;
  readonly #inlineStartAt: number;

  constructor(frame: FrameBuffer, space: Uint8Array | undefined) {
    this.#frame = frame;
    this.#space = space;
    this.#inlineStartAt = frame.bodyLength;
    frame.u32(0);
  }

  place(bytes: Uint8Array): void {
    if (!this.#space || this.#spaceUsed + bytes.length > this.#space.length) {
      this.inline(bytes);
      return;
    }
    this.#space.set(bytes, this.#spaceUsed);
    this.#write(IN_SPACE, this.#spaceUsed, bytes.length);
    this.#spaceUsed += aligned(bytes.length);
  }

  inline(bytes: Uint8Array): void {
    this.#inline.push(bytes);
    this.#write(IN_FRAME, this.#inlineBytes, bytes.length);
    this.#inlineBytes += aligned(bytes.length);
  }

  finish(): void {
    if (this.#inline.length === 0) return;
    this.#frame.align();
    this.#frame.patchU32(this.#inlineStartAt, this.#frame.bodyLength);
    for (const bytes of this.#inline) {
      this.#frame.bytes(bytes);
      this.#frame.align();
    }
  }

  #write(place: number, offset: number, byteLength: number): void {
    this.#frame.u32(place);
    this.#frame.f64(offset);
    this.#frame.u32(byteLength);
  }
}

function errorText({ code, message, fields }: PartFailure): Uint8Array {
  const whole = Buffer.from(JSON.stringify({ code, message, fields }));
  if (whole.length <= MAX_ERROR_BYTES) return whole;
  return Buffer.from(JSON.stringify({ code, message: message.slice(0, 1000), fields: [] }));
}

/** What the host knows of a batch whose results arrive. */
export interface ResultContext {
  readonly parts: readonly JobPart[];
  /** The output space that was lent. */
  readonly space: Uint8Array | undefined;
  readonly signature: Signature;
  /** Its outputs come in pieces. Default: false. */
  readonly streams?: boolean;
}

export interface ReceivedResults {
  readonly parts: readonly PartReport[];
  /** Bytes of outputs of each wanted kind. */
  readonly tensorBytes: number;
  readonly answerBytes: number;
}

/**
 * Reads the results of a process that may be broken in any way: everything in them is checked against the batch that was
 * sent. Throws MalformedFrame.
 */
export function readResults(cursor: FrameCursor, context: ResultContext): ReceivedResults {
  const reader = new PartReader(cursor, context);
  const count = cursor.bounded(MAX_PARTS, 'the number of parts');
  if (count !== context.parts.length) throw new MalformedFrame('the report has not one entry for each part');
  const parts: PartReport[] = [];
  for (let index = 0; index < count; index += 1) parts.push(reader.read(context.parts[index] as JobPart));
  const { tensorBytes, answerBytes } = reader;
  return { parts, tensorBytes, answerBytes };
}

class PartReader {
  tensorBytes = 0;
  answerBytes = 0;
  readonly #cursor: FrameCursor;
  readonly #context: ResultContext;
  readonly #inlineStart: number;

  constructor(cursor: FrameCursor, context: ResultContext) {
    this.#cursor = cursor;
    this.#context = context;
    this.#inlineStart = cursor.u32();
  }

  read(part: JobPart): PartReport {
    const kind = this.#cursor.bounded(STREAM_ENDED, 'the kind of a part');
    if (kind === FAILED) return { ok: false, ...readFailure(this.#bytes()) };
    if (kind === STREAM_ENDED) {
      if (!this.#context.streams) throw new MalformedFrame('a stream ends that nobody asked for');
      return { ok: true, output: STREAMED };
    }
    if ((kind === ANSWER) !== (part.want === 'answer')) {
      throw new MalformedFrame('the report has an answer where tensors were wanted, or the other way round');
    }
    if (kind === TENSORS) return this.#tensors();
    const json = this.#bytes();
    this.answerBytes += aligned(json.length);
    return { ok: true, output: { kind: 'answer', json } };
  }

  #tensors(): PartReport {
    const rows = this.#cursor.u32();
    const count = this.#cursor.u32();
    const specs = this.#context.signature.outputs;
    if (count !== specs.length) {
      throw new MalformedFrame(`the report has ${count} outputs, expected ${specs.length}`);
    }
    const outputs: TensorOutput[] = [];
    for (let index = 0; index < count; index += 1) {
      const bytes = this.#bytes();
      const shape = readShape(this.#cursor);
      const size = byteSizeOf(specs[index]?.datatype ?? 'BYTES');
      if (size > 0 && elementCount(shape) * size !== bytes.length) {
        throw new MalformedFrame('an output has not the length that its shape says');
      }
      this.tensorBytes += aligned(bytes.length);
      outputs.push({ bytes, shape });
    }
    return { ok: true, output: { kind: 'tensors', rows, outputs } };
  }

  #bytes(): Uint8Array {
    const inFrame = this.#cursor.bounded(IN_FRAME, 'the place') === IN_FRAME;
    const start = this.#cursor.f64() + (inFrame ? this.#inlineStart : 0);
    const end = start + this.#cursor.u32();
    const region = inFrame ? this.#cursor.body : this.#context.space;
    if (!region || !(start >= 0 && end <= region.length)) {
      throw new MalformedFrame('an output lies outside its memory');
    }
    return region.subarray(start, end);
  }
}

function readFailure(bytes: Uint8Array): PartFailure {
  if (bytes.length > MAX_ERROR_BYTES) throw new MalformedFrame('an error text is too long');
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8'));
  } catch {
    throw new MalformedFrame('an error is not JSON');
  }
  const { code, message, fields } = (parsed ?? {}) as Record<string, unknown>;
  if (!isErrorCode(code) || typeof message !== 'string' || !Array.isArray(fields)) {
    throw new MalformedFrame('an error has not a code and a message');
  }
  return { code, message, fields: fields.filter(isFieldError) };
}

function isErrorCode(value: unknown): value is ErrorCode {
  return ERROR_CODES.includes(value as ErrorCode);
}

function isFieldError(value: unknown): value is FieldError {
  if (typeof value !== 'object' || value === null) return false;
  const { pointer, expected, received } = value as Record<string, unknown>;
  return typeof pointer === 'string' && typeof expected === 'string' && typeof received === 'string';
}
