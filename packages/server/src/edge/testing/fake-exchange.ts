import { GimbalError } from '@gimbal/core';
import type { AnswerStream, BodySink, Exchange, RequestHead, StreamedAnswer } from '../../http1/exchange.ts';

export interface FakeRequest {
  readonly method?: string;
  /** Path and query as sent. */
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** Told as chunked: no Content-Length. */
  readonly chunked?: boolean;
  /** The answer's bytes stay unsent until `flush()`; otherwise they leave at once. */
  readonly holdFlush?: boolean;
  /** Sizes of the pieces in which the body arrives; the rest comes as one. Default: in one piece. */
  readonly pieces?: readonly number[];
  /** The body arrives only by `arrive()`, `end()` and `fail()`; otherwise as soon as it is asked for. */
  readonly manual?: boolean;
}

export interface FakeAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly headerText: string;
  body: Uint8Array;
}

const NO_RECEIVER = 'the body was not asked for';

/** One request and its answer in memory. It throws when an edge answers twice or reads the body twice. */
export class FakeExchange implements Exchange {
  readonly head: RequestHead;
  readonly receivedAt = 0;
  readonly remoteAddress = '127.0.0.1';
  answer: FakeAnswer | undefined;
  /** What went against the contract; also thrown. */
  readonly breaches: string[] = [];
  bodyAsked = false;
  readonly #request: FakeRequest;
  readonly #body: Uint8Array;
  readonly #headers: ReadonlyMap<string, string>;
  #sink: BodySink | undefined;
  #abortListener: (() => void) | undefined;
  #pendingFlush: (() => void) | undefined;
  #gone = false;
  #streaming = false;
  #silenceListener: (() => void) | undefined;
  /** Pieces of a stream that wait for `take()`; otherwise they are taken at once. */
  readonly #untaken: (() => void)[] = [];
  #bodyDone = false;
  #limitBytes = 0;
  #arrived = 0;

  constructor(request: FakeRequest = {}) {
    this.#request = request;
    this.#body =
      typeof request.body === 'string'
        ? new TextEncoder().encode(request.body)
        : (request.body ?? new Uint8Array(0));
    this.#headers = new Map(
      Object.entries(request.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const [path = '/', query = ''] = (request.url ?? '/').split('?', 2);
    this.head = {
      method: request.method ?? (request.body === undefined ? 'GET' : 'POST'),
      path,
      query,
      contentLength: request.chunked ? undefined : this.#body.length,
      header: (name) => this.#headers.get(name),
      headers: () => this.#headers,
    };
  }

  get closed(): boolean {
    return this.#gone || (this.answer !== undefined && !this.#streaming);
  }

  readBody(
    limitBytes: number,
    onBody: (body: Uint8Array) => void,
    onFail: (error: GimbalError) => void,
  ): void {
    const chunks: Uint8Array[] = [];
    this.streamBody(limitBytes, {
      chunk: (bytes) => chunks.push(bytes.slice()),
      end: () => lend(Buffer.concat(chunks), onBody),
      fail: onFail,
    });
  }

  streamBody(limitBytes: number, sink: BodySink): void {
    if (this.bodyAsked) this.#breach('the body was asked for twice');
    this.bodyAsked = true;
    this.#sink = sink;
    this.#limitBytes = limitBytes;
    if (this.#request.manual) return;
    let at = 0;
    for (const size of this.#request.pieces ?? []) {
      if (at + size > this.#body.length) break;
      this.arrive(this.#body.subarray(at, at + size));
      at += size;
    }
    if (at < this.#body.length) this.arrive(this.#body.subarray(at));
    this.end();
  }

  /** A piece of the body comes in. Its memory is reused afterwards, as the receive buffer's is. */
  arrive(bytes: Uint8Array): void {
    if (!this.#sink) throw new Error(NO_RECEIVER);
    if (this.#bodyDone || this.closed) return;
    this.#arrived += bytes.length;
    if (this.#arrived > this.#limitBytes) {
      this.fail(tooLarge(this.#limitBytes));
      return;
    }
    const sink = this.#sink;
    lend(bytes, (view) => sink.chunk(view));
  }

  end(): void {
    if (!this.#sink) throw new Error(NO_RECEIVER);
    if (this.#bodyDone || this.closed) return;
    this.#bodyDone = true;
    this.#sink.end();
  }

  fail(error: GimbalError): void {
    if (!this.#sink) throw new Error(NO_RECEIVER);
    if (this.#bodyDone || this.closed) return;
    this.#bodyDone = true;
    this.#sink.fail(error);
  }

  /** The client goes away. */
  abort(): void {
    if (this.closed) {
      this.flush();
      return;
    }
    this.#gone = true;
    this.#abortListener?.();
    for (const onTaken of this.#untaken.splice(0)) onTaken();
  }

  respond(
    status: number,
    headers: string,
    body: string | Uint8Array | readonly Uint8Array[],
    onFlushed?: () => void,
  ): void {
    if (this.answer) this.#breach('answered twice');
    if (this.#gone) {
      onFlushed?.();
      return;
    }
    const answer: FakeAnswer = {
      status,
      headers: parseHeaders(headers),
      headerText: headers,
      body: new Uint8Array(0),
    };
    this.answer = answer;
    this.#pendingFlush = () => {
      answer.body = bytesOf(body);
      onFlushed?.();
    };
    if (!this.#request.holdFlush) this.flush();
  }

  stream({ status, headers }: StreamedAnswer): AnswerStream {
    if (this.answer) this.#breach('answered twice');
    if (this.#gone) return { write: (_bytes, onTaken) => onTaken?.(), end: () => {} };
    const answer: FakeAnswer = {
      status,
      headers: parseHeaders(headers),
      headerText: headers,
      body: new Uint8Array(0),
    };
    this.answer = answer;
    this.#streaming = true;
    return {
      write: (bytes, onTaken = () => {}) => {
        if (this.#streaming && !this.#gone) answer.body = Buffer.concat([answer.body, bytes]);
        if (this.#request.holdFlush && !this.#gone) this.#untaken.push(onTaken);
        else onTaken();
      },
      end: () => {
        this.#streaming = false;
      },
    };
  }

  /** The client takes the oldest piece that it has not taken. */
  take(): void {
    this.#untaken.shift()?.();
  }

  onSilence(_everyMs: number, listener: () => void): void {
    this.#silenceListener = listener;
  }

  /** Nothing was sent for a while. */
  fallSilent(): void {
    if (!this.closed) this.#silenceListener?.();
  }

  onAbort(listener: () => void): void {
    if (this.#abortListener) this.#breach('onAbort was called twice');
    this.#abortListener = listener;
  }

  /** The bytes of the answer leave now. */
  flush(): void {
    const pending = this.#pendingFlush;
    this.#pendingFlush = undefined;
    pending?.();
  }

  get text(): string {
    return new TextDecoder().decode(this.#answered.body);
  }

  get json(): unknown {
    return JSON.parse(this.text);
  }

  get status(): number {
    return this.#answered.status;
  }

  get #answered(): FakeAnswer {
    if (!this.answer) throw new Error('there is no answer yet');
    return this.answer;
  }

  #breach(what: string): never {
    this.breaches.push(what);
    throw new Error(`contract of Exchange broken: ${what}`);
  }
}

/** Shows a copy of the bytes and then destroys it: a view kept too long reads nonsense. */
function lend(bytes: Uint8Array, to: (view: Uint8Array) => void): void {
  // An odd start, since a body follows its head anywhere in the receive buffer.
  const room = new Uint8Array(bytes.length + 1);
  room.set(bytes, 1);
  const view = room.subarray(1);
  to(view);
  view.fill(0xdd);
}

function bytesOf(body: string | Uint8Array | readonly Uint8Array[]): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  return body instanceof Uint8Array ? body.slice() : new Uint8Array(Buffer.concat(body));
}

function parseHeaders(text: string): ReadonlyMap<string, string> {
  if (text !== '' && !text.endsWith('\r\n')) throw new Error('header lines must end in CRLF');
  const headers = new Map<string, string>();
  for (const line of text.split('\r\n')) {
    if (line === '') continue;
    const colon = line.indexOf(': ');
    if (colon <= 0) throw new Error(`bad header line ${JSON.stringify(line)}`);
    const name = line.slice(0, colon).toLowerCase();
    if (headers.has(name)) throw new Error(`header ${name} was given twice`);
    headers.set(name, line.slice(colon + 2));
  }
  return headers;
}

function tooLarge(limitBytes: number): GimbalError {
  return new GimbalError('INPUT_TOO_LARGE', `Cannot read the body: expected at most ${limitBytes} bytes`);
}
