import { assert, type BatchJob, type BatchReport, type PartReport, type Span } from '@gimbal/core';
import type { Arena } from '../transport/arena.ts';
import type { ReceivedReport } from '../transport/report-frame.ts';

/** A report whose outputs are views of memory that was lent to the runner, until it is released. */
export class LentReport implements BatchReport {
  readonly parts: readonly PartReport[];
  readonly preprocessMs: number;
  readonly inferMs: number;
  readonly postprocessMs: number;
  readonly #arena: Arena;
  #span: Span | undefined;
  #released = false;

  constructor(received: ReceivedReport, arena: Arena, span: Span | undefined) {
    this.parts = received.parts;
    this.preprocessMs = received.preprocessMs;
    this.inferMs = received.inferMs;
    this.postprocessMs = received.postprocessMs;
    this.#arena = arena;
    this.#span = span;
  }

  release(): void {
    assert(!this.#released, 'a report is released once');
    this.#released = true;
    if (this.#span) this.#arena.free(this.#span);
    this.#span = undefined;
  }
}

/** What comes of a batch that fits no frame. */
export function tooLargeReport(
  job: BatchJob,
  { bytes, limit }: { bytes: number; limit: number },
): BatchReport {
  const failed = {
    ok: false,
    code: 'INPUT_TOO_LARGE',
    message: `Cannot run the batch: its inputs have ${bytes} bytes, expected at most ${limit} where memory is not shared`,
    fields: [],
  } as const;
  return {
    parts: job.parts.map(() => failed),
    preprocessMs: 0,
    inferMs: 0,
    postprocessMs: 0,
    release: () => {},
  };
}
