import type { AnswerHead } from './schema.ts';

export type ParameterValue = string | number | boolean;

export interface InferOptions {
  readonly signal?: AbortSignal;
  /** How long the caller can use an answer, in ms from now; the client's `timeoutMs` when left out. The server gets it too. */
  readonly deadlineMs?: number;
  /** A version of the model; the server's default when left out. */
  readonly version?: string;
  /** What is shed first under overload: `sheddable`, then `default`. */
  readonly criticality?: 'critical' | 'default' | 'sheddable';
  /** The same key meets the same variant of a roll-out or an experiment. */
  readonly routingKey?: string;
  /** One is made for each call, so that its attempts are one for the server. */
  readonly idempotencyKey?: string;
  /** Instead of the client's. */
  readonly maxRetries?: number;
  /** Called when the answer comes from a lower rung of the ladder. */
  readonly onDegraded?: (answer: AnswerHead) => void;
  /** `top_k`, `threshold`, and what the model declares. */
  readonly parameters?: Readonly<Record<string, ParameterValue>>;
  /** Type of bytes that do not tell it themselves. */
  readonly contentType?: string;
  /** `[A-Za-z0-9._-]{1,128}`; the server makes one when left out. */
  readonly requestId?: string;
  /** W3C trace context, passed on. */
  readonly traceparent?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function optionHeaders(options: InferOptions): Record<string, string> {
  const named: Readonly<Record<string, string | undefined>> = {
    'inference-criticality': options.criticality,
    'inference-routing-key': options.routingKey,
    'x-request-id': options.requestId,
    traceparent: options.traceparent,
  };
  const headers: Record<string, string> = { ...options.headers };
  for (const [name, value] of Object.entries(named)) if (value !== undefined) headers[name] = value;
  return headers;
}
