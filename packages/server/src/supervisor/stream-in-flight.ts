import type { Instant, StreamTerms } from '@gimbal/core';
import { MalformedFrame } from '../transport/frame-cursor.ts';
import type { HangLimit } from './hang-limit.ts';

const NEVER_HUNG: HangLimit = { at: Number.POSITIVE_INFINITY, because: 'slow' };

/**
 * The host's account of a stream that a runner has. A runner is hung when it has credit and gives no piece; one without
 * credit waits for its reader, who has limits of his own.
 */
export class StreamInFlight {
  readonly #terms: StreamTerms;
  #credit: number;
  #pieces = 0;
  #hang: HangLimit;
  #cancelled = false;

  constructor(terms: StreamTerms, now: Instant) {
    this.#terms = terms;
    this.#credit = terms.piecesAhead;
    this.#hang = { at: now + terms.idleMs, because: 'slow' };
  }

  get hang(): HangLimit {
    return this.#hang;
  }

  get cancelled(): boolean {
    return this.#cancelled;
  }

  granted(pieces: number, now: Instant): void {
    if (this.#credit === 0 && !this.#cancelled)
      this.#hang = { at: now + this.#terms.idleMs, because: 'slow' };
    this.#credit += pieces;
  }

  /** A piece has come: what it must be. Throws MalformedFrame when there was no credit for it. */
  next(now: Instant): { readonly index: number; readonly maxPieceBytes: number } {
    if (this.#credit === 0) throw new MalformedFrame('a piece came that there was no credit for');
    this.#credit -= 1;
    if (!this.#cancelled) {
      this.#hang = this.#credit === 0 ? NEVER_HUNG : { at: now + this.#terms.idleMs, because: 'slow' };
    }
    const index = this.#pieces;
    this.#pieces += 1;
    return { index, maxPieceBytes: this.#terms.maxPieceBytes };
  }

  /** Its model has until then to come to its next step. */
  cancel(until: Instant): void {
    this.#cancelled = true;
    this.#hang = { at: until, because: 'expired' };
  }
}
