import type { GimbalError } from '@gimbal/core';
import type { AnswerStream } from '../../http1/exchange.ts';
import type { Inferred, ReplyStream } from '../route.ts';

export type StreamEnd =
  | { readonly ok: true; readonly how: Inferred }
  | { readonly ok: false; readonly error: GimbalError };

/** Sends an answer in pieces and counts them. */
export class FrontStream implements ReplyStream {
  readonly #answer: AnswerStream;
  readonly #port: { now(): number; ended(end: StreamEnd): void };
  #isOver = false;
  pieces = 0;
  sentBytes = 0;
  /** When the first piece was sent. */
  firstAt: number | undefined;

  constructor(answer: AnswerStream, port: { now(): number; ended(end: StreamEnd): void }) {
    this.#answer = answer;
    this.#port = port;
  }

  piece(bytes: Uint8Array, onTaken: () => void): void {
    if (!this.#isOver) {
      this.firstAt ??= this.#port.now();
      this.pieces += 1;
      this.sentBytes += bytes.length;
    }
    this.#answer.write(bytes, onTaken);
  }

  heartbeat(bytes: Uint8Array): void {
    if (this.#isOver) return;
    this.sentBytes += bytes.length;
    this.#answer.write(bytes);
  }

  end(last: Uint8Array, how: Inferred): void {
    this.#finish(last, { ok: true, how });
  }

  fail(error: GimbalError, last: Uint8Array): void {
    this.#finish(last, { ok: false, error });
  }

  #finish(last: Uint8Array, end: StreamEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.sentBytes += last.length;
    this.#answer.write(last);
    this.#answer.end();
    this.#port.ended(end);
  }
}
