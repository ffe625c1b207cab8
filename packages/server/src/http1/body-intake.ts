import { GimbalError, unreachable } from '@gimbal/core';
import type { BodyMemory } from './body-memory.ts';
import { type ByteWindow, NO_BYTES } from './byte-window.ts';
import { ChunkedDecoder } from './chunked-decoder.ts';
import type { BodySink } from './exchange.ts';
import type { HttpHead } from './http-head.ts';

/** First size of a buffer that collects a body: what is announced is not yet sent, and memory follows what is sent. */
const FIRST_COLLECTED_BYTES = 1024 * 1024;

/** A chunked body tells no length. */
const FIRST_CHUNKED_BYTES = 16 * 1024;

/** What becomes of the bytes. `unasked`: they wait. `skip`: the answer was given without them. */
type Mode = 'unasked' | 'whole' | 'stream' | 'skip';

type OnBody = (body: Uint8Array) => void;
type OnFail = (error: GimbalError) => void;

/** Takes the body of one request after another off a connection: framing, limit, and who gets it. */
export class BodyIntake {
  readonly #memory: BodyMemory;
  #mode: Mode = 'unasked';
  #state: 'open' | 'ended' | 'failed' = 'ended';
  #isChunked = false;
  /** Bytes of a Content-Length that are still to come. */
  #remaining = 0;
  #receivedBytes = 0;
  #limitBytes = 0;
  #decoder: ChunkedDecoder | undefined;
  #onBody: OnBody | undefined;
  #onFail: OnFail | undefined;
  #sink: BodySink | undefined;
  #collected: Buffer | undefined;

  constructor(memory: BodyMemory) {
    this.#memory = memory;
  }

  begin(head: HttpHead): void {
    this.#mode = 'unasked';
    this.#state = 'open';
    this.#isChunked = head.contentLength === undefined;
    this.#remaining = head.contentLength ?? 0;
    this.#receivedBytes = 0;
    if (!this.#isChunked) return;
    this.#decoder ??= new ChunkedDecoder();
    this.#decoder.reset();
  }

  /** Payload bytes so far. */
  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  get isAsked(): boolean {
    return this.#mode !== 'unasked';
  }

  /** Whether nothing of the body is left on the connection, so that a request may follow. */
  get isComplete(): boolean {
    return this.#state === 'ended' || (!this.#isChunked && this.#remaining === 0);
  }

  /** Whether bytes that come now would be looked at. */
  get isTaking(): boolean {
    return this.#state === 'open' && this.#mode !== 'unasked';
  }

  /** Whether a limited number of bytes is all that is left. */
  isShorterThan(limitBytes: number): boolean {
    return this.#state !== 'failed' && !this.#isChunked && this.#remaining <= limitBytes;
  }

  askWhole(limitBytes: number, onBody: OnBody, onFail: OnFail): void {
    this.#mode = 'whole';
    this.#limitBytes = limitBytes;
    this.#onBody = onBody;
    this.#onFail = onFail;
    this.#refuseTooLong();
  }

  askStream(limitBytes: number, sink: BodySink): void {
    this.#mode = 'stream';
    this.#limitBytes = limitBytes;
    this.#sink = sink;
    this.#refuseTooLong();
  }

  /** The rest is read and dropped; nobody is told of its end. */
  skip(): void {
    this.#mode = 'skip';
    this.#forget();
  }

  /** Nothing more comes to anybody. */
  stop(): void {
    this.#state = 'failed';
    this.#forget();
  }

  /** Ends an unfinished body with an error, if anybody waits for it. */
  fail(error: GimbalError): void {
    if (this.#state !== 'open') return;
    this.#state = 'failed';
    const onFail = this.#onFail;
    const sink = this.#sink;
    this.#forget();
    onFail?.(error);
    sink?.fail(error);
  }

  /** Takes what the window has of the body and moves `window.at` behind it. */
  take(window: ByteWindow): void {
    if (this.#isChunked) this.#takeChunked(window);
    else this.#takeSized(window);
  }

  #takeSized(window: ByteWindow): void {
    const start = window.at;
    const length = Math.min(this.#remaining, window.end - start);
    window.at = start + length;
    this.#remaining -= length;
    this.#deliver(window.bytes, start, window.at);
    if (this.#remaining === 0 && this.#state === 'open') this.#finish(window.bytes, start, window.at);
  }

  #takeChunked(window: ByteWindow): void {
    const decoder = this.#decoder;
    if (!decoder) return;
    while (this.#state === 'open') {
      const outcome = decoder.advance(window);
      switch (outcome) {
        case 'payload':
          this.#takePayload(window, decoder);
          break;
        case 'more':
          return;
        case 'ended':
          this.#finish(NO_BYTES, 0, 0);
          return;
        case 'refused':
          this.fail(decoder.refusal.error);
          return;
        default:
          unreachable(outcome);
      }
    }
  }

  #takePayload({ bytes }: ByteWindow, { payloadStart, payloadEnd }: ChunkedDecoder): void {
    const total = this.#receivedBytes + payloadEnd - payloadStart;
    if (total > this.#limitBytes && this.#mode !== 'skip') this.fail(tooLarge(this.#limitBytes));
    else this.#deliver(bytes, payloadStart, payloadEnd);
  }

  #deliver(bytes: Buffer, start: number, end: number): void {
    if (end === start) return;
    const before = this.#receivedBytes;
    this.#receivedBytes = before + end - start;
    if (this.#mode === 'stream') this.#sink?.chunk(bytes.subarray(start, end));
    // A body that came in one piece is never copied.
    else if (this.#mode === 'whole' && (before > 0 || this.#remaining > 0 || this.#isChunked)) {
      this.#collect(bytes, start, end);
    }
  }

  #collect(bytes: Buffer, start: number, end: number): void {
    const at = this.#receivedBytes - (end - start);
    let collected = this.#collected;
    if (!collected || collected.length < this.#receivedBytes) {
      const grown = this.#grown(collected, at);
      if (!grown) {
        this.fail(outOfMemory());
        return;
      }
      collected = grown;
      this.#collected = grown;
    }
    bytes.copy(collected, at, start, end);
  }

  /** Undefined when the server's memory for bodies is used up. */
  #grown(collected: Buffer | undefined, used: number): Buffer | undefined {
    const first = this.#isChunked ? FIRST_CHUNKED_BYTES : FIRST_COLLECTED_BYTES;
    const mostBytes = this.#isChunked ? this.#limitBytes : this.#receivedBytes + this.#remaining;
    const wanted = Math.max(first, this.#receivedBytes, 2 * (collected?.length ?? 0));
    const size = Math.min(wanted, mostBytes);
    if (!this.#memory.take(size - (collected?.length ?? 0))) return undefined;
    const grown = Buffer.allocUnsafeSlow(size);
    collected?.copy(grown, 0, 0, used);
    return grown;
  }

  /** The last byte was read; a body of one piece is in `bytes`. */
  #finish(bytes: Buffer, start: number, end: number): void {
    this.#state = 'ended';
    const onBody = this.#onBody;
    const sink = this.#sink;
    const body = this.#collected?.subarray(0, this.#receivedBytes) ?? bytes.subarray(start, end);
    this.#forget();
    onBody?.(body);
    sink?.end();
  }

  /**
   * A body that announces too much is not begun. Its framing is sound, so the connection may outlive it, if the rest is
   * short enough to be skipped.
   */
  #refuseTooLong(): void {
    if (this.#remaining <= this.#limitBytes) return;
    const onFail = this.#onFail;
    const sink = this.#sink;
    const error = tooLarge(this.#limitBytes, this.#remaining);
    this.#mode = 'unasked';
    this.#forget();
    onFail?.(error);
    sink?.fail(error);
  }

  #forget(): void {
    this.#onBody = undefined;
    this.#onFail = undefined;
    this.#sink = undefined;
    if (this.#collected) this.#memory.give(this.#collected.length);
    this.#collected = undefined;
  }
}

function outOfMemory(): GimbalError {
  return new GimbalError(
    'OVERLOADED',
    'Cannot read the body: the memory for bodies that are arriving is full, expected room for one more',
    { retryAfterMs: 1000 },
  );
}

function tooLarge(limitBytes: number, length?: number): GimbalError {
  const got = length === undefined ? 'more' : `${length}`;
  return new GimbalError(
    'INPUT_TOO_LARGE',
    `Cannot read the body: it is over the limit, expected at most ${limitBytes} bytes, got ${got}`,
  );
}
