import type { FrameBuffer } from './frame-buffer.ts';
import { FrameCursor } from './frame-cursor.ts';
import {
  type PartResult,
  type ReceivedResults,
  type ResultContext,
  readResults,
  writeResults,
} from './part-result.ts';

export interface StageTimes {
  readonly preprocessMs: number;
  readonly inferMs: number;
  readonly postprocessMs: number;
}

export interface ReportHead extends StageTimes {
  readonly batchId: number;
  /** Memory of the runner that is its own, as last measured. */
  readonly residentBytes: number;
}

/** Writes a report: how long a batch took, and what came of its parts. `space` is the output space that the host lent. */
export function writeReport(
  frame: FrameBuffer,
  head: ReportHead,
  outcome: { results: readonly PartResult[]; space: Uint8Array | undefined },
): void {
  frame.f64(head.batchId);
  frame.f64(head.preprocessMs);
  frame.f64(head.inferMs);
  frame.f64(head.postprocessMs);
  frame.f64(head.residentBytes);
  writeResults(frame, outcome);
}

export interface ReceivedReport extends ReportHead, ReceivedResults {}

/** The batch that a report or a piece is about, to look up its context before the rest is read. */
export function batchIdOf(body: Uint8Array): number {
  return new FrameCursor(body).f64();
}

/**
 * Reads a report of a process that may be broken in any way: everything in it is checked against the batch that was
 * sent. Throws MalformedFrame.
 */
export function readReport(body: Uint8Array, context: ResultContext): ReceivedReport {
  const cursor = new FrameCursor(body);
  const batchId = cursor.f64();
  const preprocessMs = duration(cursor.f64());
  const inferMs = duration(cursor.f64());
  const postprocessMs = duration(cursor.f64());
  const residentBytes = duration(cursor.f64());
  return { batchId, preprocessMs, inferMs, postprocessMs, residentBytes, ...readResults(cursor, context) };
}

/** Anything that is not a duration counts as none: it must not poison the host's statistics. */
function duration(value: number): number {
  return Number.isFinite(value) && value > 0 ? value : 0;
}
