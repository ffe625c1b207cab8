import type { DegradationReason, PartOutput } from './work.ts';

/** Bounds of a stream of pieces, each with what it is for. */
export interface StreamLimits {
  /** From the first piece to the last, in ms: a reader can't keep a runner for longer. */
  readonly maxDurationMs: number;
  /** Bytes of all pieces of one stream. */
  readonly maxBytes: number;
  /** Bytes of one piece. */
  readonly maxPieceBytes: number;
  /** Pieces that may be on their way to a reader at once: what a slow one keeps in memory. */
  readonly piecesAhead: number;
  /** The longest time that a model may take for a piece, in ms. */
  readonly idleMs: number;
  /** Bytes of all pieces where they are gathered to one answer. */
  readonly maxCollectedBytes: number;
}

/** What a runner is told of a stream that it is to run. */
export type StreamTerms = Pick<StreamLimits, 'piecesAhead' | 'maxPieceBytes' | 'idleMs'>;

/** One piece as it comes from a runner. Its output is memory of its own, good for as long as it is held. */
export interface PieceReport {
  /** From 0 on, without gaps. */
  readonly index: number;
  readonly output: PartOutput;
  readonly byteLength: number;
}

/** One piece as a call is given it. */
export interface StreamPiece extends PieceReport {
  readonly variant: string;
  readonly rung: number;
  /** Undefined when the best rung answers. */
  readonly degradedBecause: DegradationReason | undefined;
  /** Time that the work waited for a runner. */
  readonly queueMs: number;
  /**
   * The reader has room for another one: to be called once for each piece, at any time, also after the call was closed.
   * A piece that is not taken holds up its stream, and nothing else.
   */
  taken(): void;
}

export const DEFAULT_STREAM_LIMITS: StreamLimits = {
  maxDurationMs: 600_000,
  maxBytes: 256 * 1024 * 1024,
  maxPieceBytes: 1024 * 1024,
  piecesAhead: 4,
  idleMs: 30_000,
  maxCollectedBytes: 16 * 1024 * 1024,
};
