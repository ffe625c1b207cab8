import {
  type AnswerParameters,
  assert,
  type BatchJob,
  type JobPart,
  type Signature,
  type Span,
  type TensorInput,
  type Want,
} from '@gimbal/core';
import type { Arena } from './arena.ts';
import { FRAME_ALIGNMENT, type FrameBuffer } from './frame-buffer.ts';
import { FrameCursor, MalformedFrame } from './frame-cursor.ts';
import { rowsOf, type TensorView } from './tensor-rows.ts';

/** Most parts of one run; the engine's batches are far smaller. */
export const MAX_PARTS = 65_536;
export const MAX_TENSORS = 4096;
export const MAX_RANK = 64;

/** Bits of a part's flag word. */
const ENCODED = 1;
const ANSWER = 2;
const SLICED = 4;
/** Where the bytes of a tensor are: in the arena that both sides map, or in the frame itself. */
const IN_ARENA = 0;
const IN_FRAME = 1;

const NO_SHAPE: readonly number[] = [];

/** One part of a run as the runner sees it. `encoded` parts have one tensor, without a shape: the image or text. */
export interface RunPart {
  readonly encoded: boolean;
  readonly want: Want;
  readonly parameters: AnswerParameters;
  readonly firstRow: number;
  readonly rows: number;
  readonly sliced: boolean;
  readonly tensors: readonly TensorView[];
}

/** What a runner must know of a stream: how many pieces it may send before it is granted more, and how large. */
export interface StreamOrder {
  readonly credit: number;
  readonly maxPieceBytes: number;
}

export interface RunOrder {
  readonly batchId: number;
  /** Its only part is to be answered in pieces. */
  readonly stream: StreamOrder | undefined;
  /** Arena memory that the runner may write outputs to; undefined: they travel in the report. */
  readonly outputSpan: Span | undefined;
  readonly parts: readonly RunPart[];
}

/**
 * Writes a run. Tensors in a shared arena are named by their place; those of a heap arena are copied into the frame,
 * and of a part that is only some rows of its work only those rows.
 */
export function writeRun(
  frame: FrameBuffer,
  job: BatchJob,
  { arena, signature, outputSpan }: { arena: Arena; signature: Signature; outputSpan: Span | undefined },
): void {
  frame.f64(job.id);
  frame.f64(outputSpan?.offset ?? 0);
  frame.f64(outputSpan?.byteLength ?? 0);
  // A stream without any credit could never begin.
  frame.u32(job.stream?.piecesAhead ?? 0);
  frame.u32(job.stream?.maxPieceBytes ?? 0);
  const inlineStartAt = frame.bodyLength;
  frame.u32(0);
  frame.u32(job.parts.length);
  const inline = arena.kind === 'heap' ? new InlineTensors(arena, signature) : undefined;
  for (let index = 0; index < job.parts.length; index += 1) {
    writePart(frame, job.parts[index] as JobPart, inline);
  }
  if (!inline) return;
  frame.align();
  frame.patchU32(inlineStartAt, frame.bodyLength);
  inline.finish(frame);
}

/** Bytes that a run takes in its frame at most, to be checked against the frame's limit before it is written. */
export function runFrameBytes(job: BatchJob, arena: Arena): number {
  if (arena.kind === 'shared') return 0;
  let total = 0;
  for (const { input } of job.parts) {
    if (input.kind === 'encoded') total += input.span.byteLength;
    else for (const tensor of input.tensors) total += tensor.span.byteLength;
  }
  return total;
}

function writePart(frame: FrameBuffer, part: JobPart, inline: InlineTensors | undefined): void {
  const { input } = part;
  // Rows of a part are cut out here when they are copied anyhow, else by the runner.
  const sliced = part.sliced && !inline;
  const encoded = input.kind === 'encoded';
  frame.u32((encoded ? ENCODED : 0) | (part.want === 'answer' ? ANSWER : 0) | (sliced ? SLICED : 0));
  frame.u32(part.parameters.topK);
  frame.f64(part.parameters.threshold);
  frame.u32(sliced ? part.firstRow : 0);
  frame.u32(part.rows);
  if (input.kind === 'encoded') {
    frame.u32(1);
    if (inline) inline.write(frame, { span: input.span, shape: NO_SHAPE }, undefined);
    else writePlace(frame, input.span, NO_SHAPE);
    return;
  }
  frame.u32(input.tensors.length);
  for (let index = 0; index < input.tensors.length; index += 1) {
    const tensor = input.tensors[index] as TensorInput;
    if (inline) inline.write(frame, tensor, part.sliced ? { part, input: index } : undefined);
    else writePlace(frame, tensor.span, tensor.shape);
  }
}

function writePlace(frame: FrameBuffer, span: Span, shape: readonly number[]): void {
  frame.u32(IN_ARENA);
  frame.f64(span.offset);
  frame.f64(span.byteLength);
  writeShape(frame, shape);
}

/** Tensors whose bytes follow the heads of all parts. */
class InlineTensors {
  readonly #arena: Arena;
  readonly #signature: Signature;
  readonly #tensors: Uint8Array[] = [];
  #byteLength = 0;

  constructor(arena: Arena, signature: Signature) {
    this.#arena = arena;
    this.#signature = signature;
  }

  write(frame: FrameBuffer, tensor: TensorInput, rows: { part: JobPart; input: number } | undefined): void {
    const { offset, byteLength } = tensor.span;
    let view: TensorView = {
      bytes: this.#arena.bytes.subarray(offset, offset + byteLength),
      shape: tensor.shape,
    };
    if (rows) {
      const spec = this.#signature.inputs[rows.input];
      assert(spec, 'a tensor for each input');
      view = rowsOf(view, spec.datatype, { first: rows.part.firstRow, rows: rows.part.rows });
    }
    frame.u32(IN_FRAME);
    frame.f64(this.#byteLength);
    frame.f64(view.bytes.length);
    writeShape(frame, view.shape);
    this.#tensors.push(view.bytes);
    this.#byteLength += aligned(view.bytes.length);
  }

  finish(frame: FrameBuffer): void {
    for (const bytes of this.#tensors) {
      frame.bytes(bytes);
      frame.align();
    }
  }
}

export function writeShape(frame: FrameBuffer, shape: readonly number[]): void {
  frame.u32(shape.length);
  for (let axis = 0; axis < shape.length; axis += 1) frame.u32(shape[axis] as number);
}

export function readShape(cursor: FrameCursor): readonly number[] {
  const rank = cursor.bounded(MAX_RANK, 'the rank');
  const shape: number[] = [];
  for (let axis = 0; axis < rank; axis += 1) shape.push(cursor.u32());
  return shape;
}

export function aligned(length: number): number {
  return Math.ceil(length / FRAME_ALIGNMENT) * FRAME_ALIGNMENT;
}

/** Reads a run. `arena` is undefined where memory is not shared. Throws MalformedFrame. */
export function readRun(body: Uint8Array, arena: Uint8Array | undefined): RunOrder {
  const cursor = new FrameCursor(body);
  const batchId = cursor.f64();
  const offset = cursor.f64();
  const byteLength = cursor.f64();
  const order = { credit: cursor.u32(), maxPieceBytes: cursor.u32() };
  const memory: Memory = { arena, body, inlineStart: cursor.u32() };
  const count = cursor.bounded(MAX_PARTS, 'the number of parts');
  const parts: RunPart[] = [];
  for (let index = 0; index < count; index += 1) parts.push(readPart(cursor, memory));
  return {
    batchId,
    stream: order.credit === 0 ? undefined : order,
    outputSpan: byteLength === 0 ? undefined : { offset, byteLength },
    parts,
  };
}

interface Memory {
  readonly arena: Uint8Array | undefined;
  readonly body: Uint8Array;
  readonly inlineStart: number;
}

function readPart(cursor: FrameCursor, memory: Memory): RunPart {
  const flags = cursor.u32();
  const parameters = { topK: cursor.u32(), threshold: cursor.f64() };
  const firstRow = cursor.u32();
  const rows = cursor.u32();
  const count = cursor.bounded(MAX_TENSORS, 'the number of tensors');
  const tensors: TensorView[] = [];
  for (let index = 0; index < count; index += 1) tensors.push(readTensor(cursor, memory));
  return {
    encoded: (flags & ENCODED) !== 0,
    want: (flags & ANSWER) !== 0 ? 'answer' : 'tensors',
    sliced: (flags & SLICED) !== 0,
    parameters,
    firstRow,
    rows,
    tensors,
  };
}

function readTensor(cursor: FrameCursor, memory: Memory): TensorView {
  const inFrame = cursor.u32() === IN_FRAME;
  const start = cursor.f64() + (inFrame ? memory.inlineStart : 0);
  const end = start + cursor.f64();
  const shape = readShape(cursor);
  const region = inFrame ? memory.body : memory.arena;
  if (!region) throw new MalformedFrame('a tensor is in shared memory, but none is mapped');
  if (!(start >= 0 && end >= start && end <= region.length)) {
    throw new MalformedFrame('a tensor lies outside its memory');
  }
  return { bytes: region.subarray(start, end), shape };
}
