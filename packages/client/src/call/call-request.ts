/** Bodies that can be sent again: attempts and hedges each read them anew. */
export type RequestBody = string | Uint8Array<ArrayBuffer> | Blob | FormData;

/** What each attempt of a call sends. */
export interface SentRequest {
  /** With its query, from the API's root on. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: RequestBody | undefined;
}

/** What a call asks, whichever of its attempts asks it. */
export interface CallRequest {
  readonly method: 'GET' | 'POST';
  /** Asked once, under the call's deadline: inputs that are streams are read here. The signal aborts with the call. */
  readonly prepare: (signal: AbortSignal) => SentRequest | Promise<SentRequest>;
  /** Statuses besides the successful ones whose body is read as an answer. */
  readonly acceptedStatuses: readonly number[];
  /** For hooks and for the p95 that hedges wait for. */
  readonly model: string | undefined;
  /** Whether a second request may be sent beside a slow one. */
  readonly mayHedge: boolean;
  readonly maxRetries: number;
  /** Of the whole call, in ms; undefined for streams without one. */
  readonly deadlineMs: number | undefined;
  /** Of one attempt, in ms. */
  readonly attemptTimeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** Sent as `Idempotency-Key`; undefined for requests that change nothing. */
  readonly idempotencyKey: string | undefined;
}

/** A successful answer whose body has not been read. */
export interface OpenAnswer {
  readonly response: Response;
  /** Aborts with the attempt. */
  readonly signal: AbortSignal;
  readonly requestId: string | undefined;
  /** Requests sent so far. */
  readonly attempts: number;
}

/** Reads an answer to the end of what the caller wants of it; what it throws fails the attempt. */
export type ReadAnswer<T> = (answer: OpenAnswer) => Promise<T>;
