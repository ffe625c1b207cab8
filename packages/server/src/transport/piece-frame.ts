import type { JobPart, PieceReport, Signature } from '@gimbal/core';
import { type FrameBuffer, MIN_ATTACHED_BYTES } from './frame-buffer.ts';
import { FrameCursor, MalformedFrame } from './frame-cursor.ts';
import { type PartResult, readResults, resultBytes, writeResults } from './part-result.ts';

/** Most pieces that one credit may allow; the host grants a few at a time. */
const MAX_CREDIT = 65_536;

/** Which piece of which stream. */
export interface PieceHead {
  readonly batchId: number;
  readonly index: number;
}

/** Writes a piece. Its bytes are copied: models use their memory again for the next one. */
export function writePiece(frame: FrameBuffer, head: PieceHead, result: PartResult): void {
  frame.f64(head.batchId);
  frame.u32(head.index);
  writeResults(frame, { results: [settled(result)], space: undefined });
}

/** With large bytes, which a frame would send from where they lie, in memory of its own. */
function settled(result: PartResult): PartResult {
  if (result.kind === 'answer') return { ...result, json: own(result.json) };
  if (result.kind !== 'tensors') return result;
  return { ...result, outputs: result.outputs.map(({ bytes, shape }) => ({ bytes: own(bytes), shape })) };
}

function own(bytes: Uint8Array): Uint8Array {
  return bytes.length < MIN_ATTACHED_BYTES ? bytes : bytes.slice();
}

/** What the host knows of a stream when a piece of it arrives. */
export interface PieceContext {
  readonly part: JobPart;
  readonly signature: Signature;
  readonly maxPieceBytes: number;
  /** Of the piece that is next. */
  readonly index: number;
}

/**
 * Reads a piece of a process that may be broken in any way. Its outputs are views of the frame, which is memory of its
 * own. Throws MalformedFrame.
 */
export function readPiece(body: Uint8Array, context: PieceContext): PieceReport {
  const cursor = new FrameCursor(body);
  cursor.f64();
  const index = cursor.u32();
  if (index !== context.index) throw new MalformedFrame(`piece ${index} came, expected ${context.index}`);
  const { part, signature } = context;
  const { parts, tensorBytes, answerBytes } = readResults(cursor, {
    parts: [part],
    space: undefined,
    signature,
  });
  const [report] = parts;
  if (!report?.ok) throw new MalformedFrame('a piece has no outputs');
  const byteLength = tensorBytes + answerBytes;
  if (byteLength > context.maxPieceBytes) {
    throw new MalformedFrame(`a piece has ${byteLength} bytes, expected at most ${context.maxPieceBytes}`);
  }
  return { index, output: report.output, byteLength };
}

/** Bytes that a piece counts for. */
export function pieceBytes(result: PartResult): number {
  return resultBytes([result]);
}

/** Lets so many further pieces of a stream come. */
export function writeCredit(frame: FrameBuffer, credit: { batchId: number; pieces: number }): void {
  frame.f64(credit.batchId);
  frame.u32(credit.pieces);
}

export function readCredit(body: Uint8Array): { batchId: number; pieces: number } {
  const cursor = new FrameCursor(body);
  return { batchId: cursor.f64(), pieces: cursor.bounded(MAX_CREDIT, 'the credit') };
}

/** Ends a stream that nobody reads any more. */
export function writeCancel(frame: FrameBuffer, batchId: number): void {
  frame.f64(batchId);
}
