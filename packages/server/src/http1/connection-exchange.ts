import { assert, GimbalError, type Instant } from '@gimbal/core';
import { type AnswerStream, GONE_STREAM } from './answer-stream.ts';
import type { AnswerBody } from './answer-writer.ts';
import type { BodySink, Exchange, HeaderLines, StreamedAnswer } from './exchange.ts';
import type { HttpHead } from './http-head.ts';

type OnBody = (body: Uint8Array) => void;
type OnFail = (error: GimbalError) => void;

/** What an exchange asks of the connection that it came on. */
export interface ExchangePort {
  readonly remoteAddress: string;
  readWhole(limitBytes: number, onBody: OnBody, onFail: OnFail): void;
  readStream(limitBytes: number, sink: BodySink): void;
  answer(answer: OutgoingAnswer): void;
  beginStream(answer: StreamedAnswer): AnswerStream;
  watchSilence(everyMs: number, listener: () => void): void;
}

export interface OutgoingAnswer {
  readonly status: number;
  readonly headers: HeaderLines;
  readonly body: AnswerBody;
  readonly onFlushed: (() => void) | undefined;
}

/**
 * One request and its one answer. Its connection lives on after it: an exchange that is over never reaches the
 * connection again, whatever is called.
 */
export class ConnectionExchange implements Exchange {
  readonly head: HttpHead;
  readonly receivedAt: Instant;
  readonly #port: ExchangePort;
  #state: 'open' | 'streaming' | 'answered' | 'gone' = 'open';
  #isBodyAsked = false;
  #abortListener: (() => void) | undefined;

  constructor(port: ExchangePort, head: HttpHead, receivedAt: Instant) {
    this.#port = port;
    this.head = head;
    this.receivedAt = receivedAt;
  }

  get remoteAddress(): string {
    return this.#port.remoteAddress;
  }

  get closed(): boolean {
    return this.#state === 'answered' || this.#state === 'gone';
  }

  readBody(limitBytes: number, onBody: OnBody, onFail: OnFail): void {
    if (this.#isBodyAvailable()) this.#port.readWhole(limitBytes, onBody, onFail);
    else onFail(gone());
  }

  streamBody(limitBytes: number, sink: BodySink): void {
    if (this.#isBodyAvailable()) this.#port.readStream(limitBytes, sink);
    else sink.fail(gone());
  }

  respond(status: number, headers: HeaderLines, body: AnswerBody, onFlushed?: () => void): void {
    assert(this.#state !== 'answered' && this.#state !== 'streaming', 'a request was answered twice');
    if (this.#state === 'gone') {
      onFlushed?.();
      return;
    }
    this.#state = 'answered';
    this.#abortListener = undefined;
    this.#port.answer({ status, headers, body, onFlushed });
  }

  stream(answer: StreamedAnswer): AnswerStream {
    assert(this.#state !== 'answered' && this.#state !== 'streaming', 'a request was answered twice');
    if (this.#state === 'gone') return GONE_STREAM;
    this.#state = 'streaming';
    return this.#port.beginStream(answer);
  }

  onSilence(everyMs: number, listener: () => void): void {
    if (!this.closed) this.#port.watchSilence(everyMs, listener);
  }

  /** Its stream is complete. */
  streamed(): void {
    this.#state = 'answered';
    this.#abortListener = undefined;
  }

  onAbort(listener: () => void): void {
    assert(this.#abortListener === undefined, 'onAbort was called twice');
    if (this.#state === 'gone') listener();
    else if (!this.closed) this.#abortListener = listener;
  }

  /** The client has gone before the answer was complete. */
  abort(): void {
    if (this.closed) return;
    this.#state = 'gone';
    const listener = this.#abortListener;
    this.#abortListener = undefined;
    listener?.();
  }

  #isBodyAvailable(): boolean {
    assert(!this.#isBodyAsked, 'a body was asked for twice');
    this.#isBodyAsked = true;
    return this.#state === 'open';
  }
}

export function gone(): GimbalError {
  return new GimbalError('CANCELLED', 'Cannot read the body: the client went away');
}
