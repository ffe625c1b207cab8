import { assert, type BatchReport, type PartReport, type Span } from '@gimbal/core';
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
