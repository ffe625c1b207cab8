import type { GimbalError, Instant } from '@gimbal/core';
import type { AnswerStream } from './answer-stream.ts';

export type { AnswerStream } from './answer-stream.ts';

/** The head of a request. Names are lower case; a header that came twice is joined by ", ". */
export interface RequestHead {
  readonly method: string;
  /** Path as sent, still percent-encoded, without query. */
  readonly path: string;
  /** Query without "?", "" when there is none. */
  readonly query: string;
  /** Undefined for a chunked body; 0 when there is no body. */
  readonly contentLength: number | undefined;
  header(name: string): string | undefined;
  headers(): ReadonlyMap<string, string>;
}

/** Receives a body as it arrives. A chunk is only valid during the call: copy what must last. */
export interface BodySink {
  chunk(bytes: Uint8Array): void;
  end(): void;
  /** INPUT_TOO_LARGE, BODY_TIMEOUT, MALFORMED_REQUEST, or CANCELLED when the client went away. Nothing follows. */
  fail(error: GimbalError): void;
}

/**
 * Header lines already rendered, each ending in CRLF; "" for none. Who renders them (`edge/front/header-line.ts`) sees to
 * it that no value can end its line.
 */
export type HeaderLines = string;

/** One request and its one answer. The body is read only when asked for: a refusal before it costs nothing. */
export interface Exchange {
  readonly head: RequestHead;
  readonly receivedAt: Instant;
  readonly remoteAddress: string;
  /** True once the client is gone or the answer is complete. */
  readonly closed: boolean;
  /**
   * Whole body, at most `limitBytes`. The view given to `onBody` is valid only during the call (it is the receive
   * buffer itself when the body came in one piece). A `100-continue` is sent here when the client waits for one.
   */
  readBody(
    limitBytes: number,
    onBody: (body: Uint8Array) => void,
    onFail: (error: GimbalError) => void,
  ): void;
  /** The body as it arrives, at most `limitBytes` after chunked decoding. */
  streamBody(limitBytes: number, sink: BodySink): void;
  /**
   * The answer, exactly once. Content-Length, Date and Connection are added. `onFlushed` is called once the bytes have
   * left for the kernel or the connection is gone: memory that `body` views may then be reused. An answer sent before
   * the body was read makes the connection skip the rest of it (within a limit) or close.
   */
  respond(
    status: number,
    headers: HeaderLines,
    body: string | Uint8Array | readonly Uint8Array[],
    onFlushed?: () => void,
  ): void;
  /**
   * The answer, in place of `respond`, when its length is not known yet. Date, Connection and Transfer-Encoding are
   * added. The client is still watched: `onAbort` tells when it goes before the end.
   */
  stream(answer: StreamedAnswer): AnswerStream;
  /**
   * Calls again and again when the client was sent nothing for so long, until its answer is complete or it has gone. A
   * client that has not taken what it was sent is left in peace.
   */
  onSilence(everyMs: number, listener: () => void): void;
  /** Called once if the client goes away before the answer was given, or before its stream has ended. */
  onAbort(listener: () => void): void;
}

/** How a stream begins. */
export interface StreamedAnswer {
  readonly status: number;
  readonly headers: HeaderLines;
  /** A client that takes no byte of it for so long is cut off. */
  readonly stallMs: number;
}

export type ExchangeListener = (exchange: Exchange) => void;

/** What connections may cost; every one of these is a field of the configuration. */
export interface HttpLimits {
  readonly maxHeadBytes: number;
  readonly maxHeaders: number;
  readonly headTimeoutMs: number;
  /** Time for a whole body: `bodyTimeoutMs` + its length at `minBodyBytesPerSecond`. */
  readonly bodyTimeoutMs: number;
  readonly minBodyBytesPerSecond: number;
  /** Memory for bodies that are being collected, over all connections. */
  readonly maxCollectedBytes: number;
  readonly keepAliveTimeoutMs: number;
  readonly maxConnections: number;
  readonly maxRequestsPerConnection: number;
  /** A client that reads an answer slower than this many ms without progress is cut off. */
  readonly writeTimeoutMs: number;
}
