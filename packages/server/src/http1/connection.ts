import type { Socket } from 'node:net';
import { assert, GimbalError, type Instant, unreachable } from '@gimbal/core';
import { type AnswerStream, SocketStream } from './answer-stream.ts';
import { AnswerWriter } from './answer-writer.ts';
import { BodyIntake } from './body-intake.ts';
import { emptyWindow } from './byte-window.ts';
import { ConnectionExchange, type ExchangePort, gone, type OutgoingAnswer } from './connection-exchange.ts';
import type { ConnectionHost } from './connection-host.ts';
import type { BodySink, StreamedAnswer } from './exchange.ts';
import { HeadParser } from './head-parser.ts';
import { statusLine } from './header-lines.ts';
import { HeldBytes } from './held-bytes.ts';
import { inNextTurn } from './next-turn.ts';
import { type Refusal, refusalOf } from './refusal.ts';
import { ProgressWatch, Stopwatch } from './stopwatch.ts';
import { type ByteReceiver, unsentBytes } from './stream-handle.ts';

/**
 * Bytes that may wait while nobody takes them: a body that was not asked for yet, requests behind one that is not
 * answered. Beyond, the socket is not read, and the client feels it.
 */
const MAX_HELD_BYTES = 64 * 1024;

/** Pipelined requests begun in one turn of the event loop: the other connections want theirs. */
const MAX_REQUESTS_PER_TURN = 32;

/** Rest of a refused body that is read and dropped to keep the connection; beyond, closing it is cheaper. */
const MAX_SKIPPED_BYTES = 256 * 1024;

/**
 * Bytes read and dropped after the last answer: twice the usual limit of a body. Many clients (Python's http.client,
 * browsers) send a whole body before they look at the answer, and closing a socket with unread bytes resets it: they
 * would see a broken pipe in place of the answer that tells them why. What is dropped is never copied.
 */
const MAX_LINGER_BYTES = 128 * 1024 * 1024;

/** How long a client may be silent after the last answer, neither sending nor hanging up. */
const LINGER_SILENCE_MS = 2000;

/** The longest that a client may go on sending after the last answer: what it sends is of use to nobody. */
const MAX_LINGER_MS = 30_000;

const STATUS_NO_CONTENT = 204;
const STATUS_NOT_MODIFIED = 304;

/**
 * `idle`: between requests. `head`: a head has begun (or the connection has). `request`: an exchange is open or the rest
 * of its body is being skipped. `linger`: the last answer is out, the client's hanging up is awaited. `closed`: over.
 */
type Phase = 'idle' | 'head' | 'request' | 'linger' | 'closed';

/** One client connection: requests in, answers out, one at a time and in order. */
export class Connection implements ByteReceiver, ExchangePort {
  readonly remoteAddress: string;
  readonly #host: ConnectionHost;
  readonly #socket: Socket;
  readonly #parser: HeadParser;
  readonly #writer: AnswerWriter;
  readonly #body: BodyIntake;
  readonly #held = new HeldBytes();
  readonly #window = emptyWindow();
  /** A head is held until it is complete. */
  readonly #maxHeldBytes: number;
  readonly #phaseWatch = new Stopwatch();
  readonly #writeWatch = new ProgressWatch();
  readonly #lingerWatch = new ProgressWatch();
  #phase: Phase = 'head';
  #exchange: ConnectionExchange | undefined;
  /** The consume loop runs: whatever is asked for inside it is seen by its next turn. */
  #isConsuming = false;
  #isPaused = false;
  #requestCount = 0;
  #requestsThisTurn = 0;
  #lingeredBytes = 0;
  /** The answer that is being sent in pieces. */
  #streamed: SocketStream | undefined;
  /** Until the last byte of a stream has left: how long its reader may take none. */
  #stallMs: number | undefined;
  /** Who wants to know that nothing was sent for a while. */
  #silence: { readonly everyMs: number; readonly listener: () => void } | undefined;
  readonly #silenceWatch = new Stopwatch();

  constructor(host: ConnectionHost, socket: Socket) {
    this.#host = host;
    this.#socket = socket;
    this.#body = new BodyIntake(host.bodyMemory);
    this.#maxHeldBytes = Math.max(MAX_HELD_BYTES, host.limits.maxHeadBytes);
    this.#parser = new HeadParser(host.limits);
    this.#writer = new AnswerWriter(socket);
    this.remoteAddress = socket.remoteAddress ?? '';
    // A broken connection is everyday; 'close' follows and is where it is dealt with.
    socket.on('error', () => {});
    socket.on('end', () => this.#clientEnded());
    socket.on('close', () => this.#closed());
    socket.on('drain', () => this.#consumeHeld());
  }

  received(bytes: Buffer, length: number): void {
    this.#host.counters.receivedBytes += length;
    const held = this.#held;
    if (held.length > 0) {
      held.append(bytes, 0, length);
      this.#consumeHeld();
      return;
    }
    const window = this.#window;
    window.bytes = bytes;
    window.at = 0;
    window.end = length;
    this.#consume();
    if (window.at < window.end) {
      held.append(bytes, window.at, window.end);
      this.#balanceReading();
    }
  }

  readWhole(
    limitBytes: number,
    onBody: (body: Uint8Array) => void,
    onFail: (error: GimbalError) => void,
  ): void {
    this.#body.askWhole(limitBytes, onBody, onFail);
    this.#bodyAsked();
  }

  readStream(limitBytes: number, sink: BodySink): void {
    this.#body.askStream(limitBytes, sink);
    this.#bodyAsked();
  }

  answer({ status, headers, body, onFlushed }: OutgoingAnswer): void {
    const exchange = this.#exchange;
    if (!exchange) return;
    this.#exchange = undefined;
    const { head } = exchange;
    const closes = this.#closesAfter(exchange);
    let connection = '';
    if (closes) connection = 'Connection: close\r\n';
    else if (head.isHttp10) connection = 'Connection: keep-alive\r\n';
    const lines = `${statusLine(status)}${headers}${this.#host.dateLine()}${connection}`;
    if (status === STATUS_NO_CONTENT || status === STATUS_NOT_MODIFIED) {
      this.#writer.writeHead(lines, undefined);
      onFlushed?.();
    } else if (head.method === 'HEAD') {
      this.#writer.writeHead(lines, body);
      onFlushed?.();
    } else {
      this.#writer.write(lines, body, onFlushed);
    }
    this.#host.counters.sentBytes += this.#writer.takeWrittenBytes();
    this.#answered(closes);
  }

  beginStream({ status, headers, stallMs }: StreamedAnswer): AnswerStream {
    const exchange = this.#exchange;
    assert(exchange, 'a stream answers a request');
    const isChunked = !exchange.head.isHttp10;
    // Where there are no chunks only the connection's end tells the body's.
    const closes = !isChunked || this.#closesAfter(exchange);
    const framing = isChunked ? 'Transfer-Encoding: chunked\r\n' : '';
    const connection = closes ? 'Connection: close\r\n' : '';
    const lines = `${statusLine(status)}${headers}${this.#host.dateLine()}${framing}${connection}`;
    this.#writer.writeHead(lines, undefined);
    this.#host.counters.sentBytes += this.#writer.takeWrittenBytes();
    const stream = new SocketStream(this.#socket, isChunked, {
      written: (byteLength) => {
        this.#host.counters.sentBytes += byteLength;
        this.#silenceWatch.restart();
      },
      ended: () => {
        exchange.streamed();
        this.#exchange = undefined;
        this.#answered(closes || this.#host.isClosing());
      },
    });
    this.#streamed = stream;
    this.#stallMs = stallMs;
    this.#silenceWatch.restart();
    return stream;
  }

  watchSilence(everyMs: number, listener: () => void): void {
    this.#silence = { everyMs, listener };
    this.#silenceWatch.restart();
  }

  /** The answer has been given to the socket. */
  #answered(closes: boolean): void {
    this.#streamed = undefined;
    this.#silence = undefined;
    if (closes) {
      this.#linger();
      return;
    }
    if (this.#body.isComplete) this.#enter('idle');
    else this.#skipBody();
    if (this.#isConsuming) return;
    // Never inside `respond`: its caller still has to put its own things in order.
    if (this.#held.length > 0) inNextTurn(this.#consumeHeld);
  }

  /** Enforces the time limits. Called for every connection by one coarse timer. */
  sweep(now: Instant): void {
    const { limits } = this.#host;
    const unsent = unsentBytes(this.#socket);
    if (this.#writeWatch.stalledMs(unsent, now) >= (this.#stallMs ?? limits.writeTimeoutMs)) {
      this.destroy();
      return;
    }
    if (unsent === 0) this.#checkSilence(now);
    if (unsent === 0 && !this.#streamed) this.#stallMs = undefined;
    const elapsedMs = this.#phaseWatch.elapsedMs(now);
    switch (this.#phase) {
      case 'idle':
        if (elapsedMs >= limits.keepAliveTimeoutMs) this.#end();
        return;
      case 'head':
        if (elapsedMs >= limits.headTimeoutMs) this.#headTimedOut();
        return;
      case 'request':
        this.#checkBodyTime(elapsedMs);
        return;
      case 'linger':
        this.#checkLingering(elapsedMs, now);
        return;
      case 'closed':
        return;
      default:
        unreachable(this.#phase);
    }
  }

  #checkSilence(now: Instant): void {
    if (!this.#silence || this.#silenceWatch.elapsedMs(now) < this.#silence.everyMs) return;
    this.#silenceWatch.restart();
    this.#silence.listener();
  }

  /** Hangs up unless a request is inside or has begun to arrive. */
  closeIfIdle(): void {
    const isWaiting = this.#phase === 'idle' || this.#phase === 'head';
    if (isWaiting && this.#held.length === 0) this.#end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  readonly #consumeHeld = (): void => {
    if (this.#isConsuming || this.#phase === 'closed') return;
    const window = this.#window;
    this.#held.show(window);
    this.#consume();
    this.#held.dropTo(window.at);
    this.#balanceReading();
  };

  /** Takes from the window what can be taken now. */
  #consume(): void {
    this.#isConsuming = true;
    this.#requestsThisTurn = 0;
    try {
      while (this.#consumeStep());
    } finally {
      this.#isConsuming = false;
    }
  }

  /** Whether there may be more to do. */
  #consumeStep(): boolean {
    const window = this.#window;
    switch (this.#phase) {
      case 'idle':
      case 'head':
        return window.at < window.end && this.#readHead();
      case 'request':
        return this.#readBody();
      case 'linger':
        this.#lingeredBytes += window.end - window.at;
        window.at = window.end;
        this.#balanceReading();
        return false;
      case 'closed':
        window.at = window.end;
        return false;
      default:
        return unreachable(this.#phase);
    }
  }

  #readHead(): boolean {
    // A client that sends requests and doesn't read answers: its next one waits until it does.
    if (this.#socket.writableNeedDrain) return false;
    if (this.#requestsThisTurn >= MAX_REQUESTS_PER_TURN) {
      inNextTurn(this.#consumeHeld);
      return false;
    }
    const outcome = this.#parser.advance(this.#window);
    switch (outcome) {
      case 'more':
        if (this.#phase === 'idle') this.#enter('head');
        return false;
      case 'done':
        this.#beginRequest();
        return true;
      case 'refused':
        this.#refuse(this.#parser.refusal);
        return true;
      default:
        return unreachable(outcome);
    }
  }

  #beginRequest(): void {
    const { head } = this.#parser;
    const exchange = new ConnectionExchange(this, head, this.#host.now());
    this.#exchange = exchange;
    this.#requestCount += 1;
    this.#requestsThisTurn += 1;
    this.#host.counters.requests += 1;
    this.#body.begin(head);
    this.#enter('request');
    this.#host.listener(exchange);
  }

  #readBody(): boolean {
    const body = this.#body;
    if (body.isTaking) {
      body.take(this.#window);
      // The answer was given by whom the body was given to, or the skipped rest is over.
      if (body.isComplete && !this.#exchange && this.#phase === 'request') this.#enter('idle');
    }
    return this.#phase !== 'request' && this.#window.at < this.#window.end;
  }

  #bodyAsked(): void {
    const exchange = this.#exchange;
    if (!exchange || !this.#body.isTaking) return;
    this.#phaseWatch.restart();
    if (exchange.head.expectsContinue && !this.#body.isComplete) {
      this.#writer.writeContinue();
    }
    this.#consumeHeld();
  }

  #skipBody(): void {
    this.#body.skip();
    this.#phaseWatch.restart();
  }

  #closesAfter({ head }: ConnectionExchange): boolean {
    if (!head.keepAlive || this.#host.isClosing()) return true;
    if (this.#requestCount >= this.#host.limits.maxRequestsPerConnection) return true;
    if (this.#body.isComplete) return false;
    // A client that waits for 100 Continue may or may not send its body now: there is no telling where a request begins.
    if (head.expectsContinue && !this.#body.isAsked) return true;
    return !this.#body.isShorterThan(MAX_SKIPPED_BYTES);
  }

  /** Answers what can't be understood, and hangs up. */
  #refuse({ error, status }: Refusal): void {
    this.#host.counters.malformed += 1;
    const { headers, body } = this.#host.renderRefusal(error, status, this.remoteAddress);
    const lines = `${statusLine(status)}${headers}${this.#host.dateLine()}Connection: close\r\n`;
    this.#writer.write(lines, body, undefined);
    this.#host.counters.sentBytes += this.#writer.takeWrittenBytes();
    this.#linger();
  }

  #headTimedOut(): void {
    if (this.#held.length === 0) {
      this.#end();
      return;
    }
    const { headTimeoutMs } = this.#host.limits;
    const message = `Cannot read the request: its head came too slowly, expected all of it within ${headTimeoutMs} ms`;
    this.#refuse(refusalOf('BODY_TIMEOUT', message));
  }

  /** A body must keep up with the slowest rate allowed, after a start that costs nothing. */
  #checkBodyTime(elapsedMs: number): void {
    const body = this.#body;
    if (!body.isTaking || body.isComplete) return;
    const { bodyTimeoutMs, minBodyBytesPerSecond } = this.#host.limits;
    const earnedMs = (body.receivedBytes / minBodyBytesPerSecond) * 1000;
    if (elapsedMs < bodyTimeoutMs + earnedMs) return;
    if (!this.#exchange) {
      this.destroy();
      return;
    }
    body.fail(
      new GimbalError(
        'BODY_TIMEOUT',
        `Cannot read the body: it came too slowly, expected ${minBodyBytesPerSecond} bytes a second after ${bodyTimeoutMs} ms, got ${body.receivedBytes} in ${Math.round(elapsedMs)} ms`,
      ),
    );
  }

  /** A client that still reads the answer is waited for; how slowly it may read is another limit. */
  #checkLingering(elapsedMs: number, now: Instant): void {
    // One more than there are: the watch takes 0 for having nothing to watch.
    const silentMs = this.#lingerWatch.stalledMs(this.#lingeredBytes + 1, now);
    if (silentMs < LINGER_SILENCE_MS && elapsedMs < MAX_LINGER_MS) return;
    if (this.#socket.writableLength === 0) this.destroy();
  }

  /** The last answer is written: FIN behind it, then wait for the client's. */
  #linger(): void {
    this.#body.stop();
    this.#enter('linger');
    this.#socket.end();
    this.#held.clear();
    this.#balanceReading();
  }

  /** Nothing is owed to the client. */
  #end(): void {
    this.#enter('linger');
    this.#socket.end();
  }

  /**
   * FIN. A client that closes and one that only ends its side look the same; as node:http and NGINX do, it is taken for
   * gone, so that nobody computes for nobody. Answers that were given are still sent.
   */
  #clientEnded(): void {
    if (this.#phase === 'closed') return;
    this.#abandon();
    if (this.#phase !== 'linger') this.#end();
  }

  #closed(): void {
    this.#abandon();
    this.#enter('closed');
    this.#held.clear();
    this.#writer.closed();
    this.#host.connectionClosed(this);
  }

  /** The client has gone with its request unanswered. The listener first: it frees what a body sink writes to. */
  #abandon(): void {
    const exchange = this.#exchange;
    if (!exchange) return;
    this.#exchange = undefined;
    this.#streamed?.abandon();
    this.#streamed = undefined;
    this.#silence = undefined;
    exchange.abort();
    this.#body.fail(gone());
    this.#body.stop();
  }

  #enter(phase: Phase): void {
    this.#phase = phase;
    this.#phaseWatch.restart();
  }

  /** Reads while little is held, and stops when it is much. */
  #balanceReading(): void {
    const isFull =
      this.#phase === 'linger'
        ? this.#lingeredBytes > MAX_LINGER_BYTES
        : this.#held.length > this.#maxHeldBytes;
    if (isFull === this.#isPaused) return;
    this.#isPaused = isFull;
    if (isFull) this.#socket.pause();
    else this.#socket.resume();
  }
}
