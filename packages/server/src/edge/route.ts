import type {
  CachedHow,
  CallContext,
  CallObserver,
  Clock,
  DegradationReason,
  GimbalError,
  InferencePort,
  Protocol,
  Random,
  StageTimings,
  VersionView,
} from '@gimbal/core';
import type { Exchange, HeaderLines } from '../http1/exchange.ts';

/** What every edge route is given at start. */
export interface EdgePorts {
  readonly inference: InferencePort;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: CallObserver;
  readonly limits: EdgeLimits;
  readonly stream: StreamTimes;
  /** `name` and `version` of the server in metadata and docs. */
  readonly server: { readonly name: string; readonly version: string };
  /** Model that `/predict`, `/batch_predict` and `/infer` use; undefined: the first ready one of a fitting task. */
  readonly defaultModel: string | undefined;
}

/** Times of answers in pieces. */
export interface StreamTimes {
  /** After so long without a piece a sign of life is sent. */
  readonly heartbeatMs: number;
  /** A reader whose connection takes no byte for so long is cut off. */
  readonly stallMs: number;
}

export interface EdgeLimits {
  /** Body limit, after decompression. */
  readonly maxBodyBytes: number;
  /** Inputs in one native request (`inputs`, multipart files). */
  readonly maxInputs: number;
  /** Nesting of JSON. */
  readonly maxJsonDepth: number;
}

/** A request that has found its route. Path parameters are percent-decoded. */
export interface EdgeRequest {
  readonly exchange: Exchange;
  readonly route: Route;
  /** The one way to answer: it writes headers and errors and reports the call. */
  readonly reply: Reply;
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: ReadonlyMap<string, string>;
  readonly requestId: string;
  readonly context: CallContext;
  /** From a valid W3C traceparent. */
  readonly traceId: string | undefined;
}

export interface Answer {
  readonly status: number;
  /** Undefined for an empty answer. */
  readonly contentType: string | undefined;
  readonly body: string | Uint8Array | readonly Uint8Array[];
  /** Further header lines. */
  readonly headers?: HeaderLines;
  /** The bytes have left, or never will: memory that `body` views may be reused. Called exactly once. */
  readonly onFlushed?: () => void;
}

/** How an inference ran, for headers and the call's record; a `WorkDone` is one. */
export interface Inferred {
  readonly variant: string;
  readonly rung: number;
  readonly batchRows: number;
  readonly timings: StageTimings;
  /** Undefined when the best rung answered. */
  readonly degradedBecause?: DegradationReason | undefined;
  /** Undefined when a run of its own answered. */
  readonly cached?: CachedHow | undefined;
}

/** Who gives the pieces of an answer. */
export type PieceSource = Pick<Inferred, 'variant' | 'rung' | 'degradedBecause'> & {
  /** Time that the work waited for a runner. */
  readonly queueMs?: number;
};

/** How an answer in pieces begins; its status is 200. */
export interface StreamStart {
  readonly contentType: string;
  /** Undefined where a sign of life comes before the first piece. */
  readonly by: PieceSource | undefined;
}

/** An answer that is under way: whichever of `end`, `fail` and the client's going away comes first counts. */
export interface ReplyStream {
  /** `onTaken` is called once, when the client has room for more, or will never have. */
  piece(bytes: Uint8Array, onTaken: () => void): void;
  heartbeat(bytes: Uint8Array): void;
  /** All pieces have been sent; `last` says so. */
  end(last: Uint8Array, how: Inferred): void;
  /** The stream breaks off; `last` says why. */
  fail(error: GimbalError, last: Uint8Array): void;
}

export interface ErrorAnswer {
  readonly headers?: HeaderLines;
  /** Further members of the error document, rendered: `"results":[…]`. */
  readonly members?: string;
  /** Memory that was lent to the answer until now. Called exactly once, also when nothing is sent. */
  readonly onFlushed?: () => void;
}

/** Ends a request: whichever of `send`, `inferred`, `fail` and the client's going away comes first counts. */
export interface Reply {
  readonly finished: boolean;
  /** Whole time so far in ms; the first call after the results are there fixes it for headers and record alike. */
  totalMs(): number;
  /** Names what the call is about, for the record and the answer's headers. Before `open`, so refusals have it too. */
  about(version: VersionView, rows: number): void;
  /**
   * Called at most once, when the client goes away before the answer: close the call there. A body sink may be told of
   * it too, so whatever closes the call must bear being asked twice.
   */
  onAbort(listener: () => void): void;
  /** An answer that holds no inference. */
  send(answer: Answer): void;
  /** The answer of an inference. `about` must have been called. */
  inferred(answer: Answer, how: Inferred): void;
  /** Begins an answer in pieces, in place of the others. `about` must have been called. */
  stream(start: StreamStart): ReplyStream;
  /** Any thrown value, in the route's error style; CANCELLED is only recorded. */
  fail(error: unknown, answer?: ErrorAnswer): void;
}

/** How errors of a route are written: RFC 9457 problem documents or V2's `{"error": …}`. */
export type ErrorStyle = 'problem' | 'v2';

export interface Route {
  readonly method: 'GET' | 'POST';
  /** `/v2/models/{model}/infer`: braces name one path segment. */
  readonly pattern: string;
  readonly protocol: Protocol;
  readonly errors: ErrorStyle;
  /** Answers through `request.exchange`. Errors thrown synchronously are answered in the route's error style. */
  run(request: EdgeRequest): void;
}
