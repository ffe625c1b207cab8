import type { CallContext, CallObserver, Clock, InferencePort, Protocol, Random } from '@gimbal/core';
import type { Exchange } from '../http1/exchange.ts';

/** What every edge route is given at start. */
export interface EdgePorts {
  readonly inference: InferencePort;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: CallObserver;
  readonly limits: EdgeLimits;
  /** `name` and `version` of the server in metadata and docs. */
  readonly server: { readonly name: string; readonly version: string };
  /** Model that `/predict`, `/batch_predict` and `/infer` use; undefined: the first ready one of a fitting task. */
  readonly defaultModel: string | undefined;
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
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: ReadonlyMap<string, string>;
  readonly requestId: string;
  readonly context: CallContext;
  /** From a valid W3C traceparent. */
  readonly traceId: string | undefined;
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
