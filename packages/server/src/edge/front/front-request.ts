import type { CallContext } from '@gimbal/core';
import type { Exchange } from '../../http1/exchange.ts';
import type { EdgePorts, EdgeRequest, Reply, Route } from '../route.ts';
import { type CallTerms, NO_TERMS, termsOf } from './call-headers.ts';
import { queryOf } from './percent-text.ts';
import { FrontReply } from './reply.ts';
import { traceIdOf } from './traceparent.ts';

/** What the router has found out of a request. */
export interface Arrival {
  readonly exchange: Exchange;
  readonly route: Route;
  readonly parameters: Readonly<Record<string, string>>;
  readonly requestId: string;
}

/**
 * A request on its route. It can always be answered, whatever its headers say: those that may be wrong are read by
 * `readHeaders`.
 */
export class FrontRequest implements EdgeRequest {
  readonly exchange: Exchange;
  readonly route: Route;
  readonly parameters: Readonly<Record<string, string>>;
  readonly requestId: string;
  readonly traceId: string | undefined;
  readonly reply: Reply;
  context: CallContext;
  #query: ReadonlyMap<string, string> | undefined;

  constructor(ports: EdgePorts, { exchange, route, parameters, requestId }: Arrival) {
    this.exchange = exchange;
    this.route = route;
    this.parameters = parameters;
    this.requestId = requestId;
    this.traceId = traceIdOf(exchange.head.header('traceparent'));
    this.reply = new FrontReply(ports, this);
    this.context = this.#contextWith(NO_TERMS);
  }

  /** Parsed when first asked for. Throws MALFORMED_REQUEST. */
  get query(): ReadonlyMap<string, string> {
    this.#query ??= queryOf(this.exchange.head.query);
    return this.#query;
  }

  /** Reads what the headers say of the call. Throws MALFORMED_REQUEST or INVALID_INPUT. */
  readHeaders(): void {
    const terms = termsOf(this.exchange.head);
    if (terms !== NO_TERMS) this.context = this.#contextWith(terms);
  }

  #contextWith(terms: CallTerms): CallContext {
    const { exchange, requestId, route } = this;
    return {
      requestId,
      protocol: route.protocol,
      receivedAt: exchange.receivedAt,
      timeoutMs: terms.timeoutMs,
      criticality: terms.criticality,
      tenant: terms.tenant,
      refusesDegraded: terms.refusesDegraded,
      bodyBytes: exchange.head.contentLength,
    };
  }
}

/** The same context with a budget that a body's parameter brought, when it is the smaller one. */
export function withTimeout(context: CallContext, timeoutMs: number): CallContext {
  if (context.timeoutMs !== undefined && context.timeoutMs <= timeoutMs) return context;
  return { ...context, timeoutMs };
}
