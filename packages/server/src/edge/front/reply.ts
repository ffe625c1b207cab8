import {
  type CallRecord,
  type GimbalError,
  type Outcome,
  toGimbalError,
  type VersionView,
} from '@gimbal/core';
import type {
  Answer,
  EdgePorts,
  EdgeRequest,
  ErrorAnswer,
  Inferred,
  Reply,
  ReplyStream,
  StreamStart,
} from '../route.ts';
import { inferenceLines, streamLines, versionLines } from './answer-headers.ts';
import { contentTypeOf, errorDocument, retryAfterOf, statusOf } from './errors.ts';
import { FrontStream, type StreamEnd } from './front-stream.ts';

const CANCELLED_STATUS = 499;
/** Streams begin when they can; what goes wrong later is told inside. */
const STREAM_STATUS = 200;

/** Longest text of an unexpected error's stack in the log. */
const MAX_CAUSE_LENGTH = 2000;

const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'OPTIONS', 'PUT', 'DELETE', 'PATCH'];

/** Writes the one answer of a request and reports the call, exactly once, whatever becomes of it. */
export class FrontReply implements Reply {
  readonly #ports: EdgePorts;
  readonly #request: EdgeRequest;
  #version: VersionView | undefined;
  #rows = 0;
  #totalMs: number | undefined;
  #isFinished = false;
  #abortListener: (() => void) | undefined;
  #stream: FrontStream | undefined;

  constructor(ports: EdgePorts, request: EdgeRequest) {
    this.#ports = ports;
    this.#request = request;
  }

  get finished(): boolean {
    return this.#isFinished;
  }

  totalMs(): number {
    this.#totalMs ??= this.#ports.clock.now() - this.#request.exchange.receivedAt;
    return this.#totalMs;
  }

  about(version: VersionView, rows: number): void {
    this.#version = version;
    this.#rows = rows;
  }

  onAbort(listener: () => void): void {
    this.#abortListener = listener;
    this.#request.exchange.onAbort(this.#aborted);
  }

  send(answer: Answer): void {
    this.#finish(answer, this.#version ? versionLines(this.#version.spec) : '', { outcome: 'ok' });
  }

  inferred(answer: Answer, how: Inferred): void {
    const spec = this.#version?.spec;
    const lines = spec ? inferenceLines(spec, how, this.totalMs()) : '';
    this.#finish(answer, lines, { outcome: how.rung > 0 ? 'degraded' : 'ok', how });
  }

  stream({ contentType, by }: StreamStart): ReplyStream {
    const { exchange, requestId } = this.#request;
    const spec = this.#version?.spec;
    const soFarMs = this.#ports.clock.now() - exchange.receivedAt;
    const lines = spec ? streamLines(spec, by, soFarMs) : '';
    const headers = `X-Request-Id: ${requestId}\r\n${lines}Content-Type: ${contentType}\r\n${UNBUFFERED}`;
    const { stallMs } = this.#ports.stream;
    this.#stream = new FrontStream(exchange.stream({ status: STREAM_STATUS, headers, stallMs }), {
      now: () => this.#ports.clock.now(),
      ended: (end) => this.#streamed(end),
    });
    return this.#stream;
  }

  fail(thrown: unknown, answer: ErrorAnswer = {}): void {
    const error = toGimbalError(thrown);
    if (error.code === 'CANCELLED') {
      this.#cancel(error);
      answer.onFlushed?.();
      return;
    }
    const { exchange, requestId, route } = this.#request;
    const retryAfter = retryAfterOf(error, this.#ports.random);
    const body = errorDocument(error, route.errors, {
      requestId,
      instance: exchange.head.path,
      retryAfter,
      members: answer.members ?? '',
    });
    let headers = answer.headers ?? '';
    if (retryAfter) headers += `Retry-After: ${retryAfter.seconds}\r\n`;
    const { onFlushed } = answer;
    this.#finish(
      {
        status: statusOf(error.code, route.errors),
        contentType: contentTypeOf(route.errors),
        body,
        headers,
        ...(onFlushed ? { onFlushed } : {}),
      },
      this.#version ? versionLines(this.#version.spec) : '',
      { outcome: error.row.outcome, error },
    );
  }

  readonly #aborted = (): void => {
    if (this.#isFinished) return;
    this.#cancel(undefined);
    this.#abortListener?.();
    this.#abortListener = undefined;
  };

  #streamed(end: StreamEnd): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#abortListener = undefined;
    const sent = { status: STREAM_STATUS, responseBytes: this.#stream?.sentBytes ?? 0 };
    if (end.ok) this.#record(sent, { outcome: end.how.rung > 0 ? 'degraded' : 'ok', how: end.how });
    else this.#record(sent, { outcome: end.error.row.outcome, error: end.error });
  }

  #cancel(error: GimbalError | undefined): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    const detail = error?.message ?? 'the client went away';
    const responseBytes = this.#stream?.sentBytes ?? 0;
    this.#record({ status: CANCELLED_STATUS, responseBytes }, { outcome: 'cancelled', detail });
  }

  #finish(answer: Answer, lines: string, end: CallEnd): void {
    const { exchange } = this.#request;
    if (this.#isFinished || exchange.closed) {
      // The client has gone, or somebody answered already: memory returns all the same.
      this.#cancel(undefined);
      answer.onFlushed?.();
      return;
    }
    this.#isFinished = true;
    this.#abortListener = undefined;
    this.totalMs();
    let headers = `X-Request-Id: ${this.#request.requestId}\r\n${lines}`;
    if (answer.contentType !== undefined) headers += `Content-Type: ${answer.contentType}\r\n`;
    if (answer.headers !== undefined) headers += answer.headers;
    exchange.respond(answer.status, headers, answer.body, answer.onFlushed);
    this.#record({ status: answer.status, responseBytes: byteLengthOf(answer.body) }, end);
  }

  #piecesSent(): Pick<CallRecord, 'pieces' | 'firstPieceMs'> {
    if (!this.#stream) return {};
    const { pieces, firstAt } = this.#stream;
    const { receivedAt } = this.#request.exchange;
    return { pieces, firstPieceMs: firstAt === undefined ? undefined : firstAt - receivedAt };
  }

  #record({ status, responseBytes }: Sent, { outcome, how, error, detail }: CallEnd): void {
    const request = this.#request;
    const { head } = request.exchange;
    const spec = this.#version?.spec;
    const timings = how?.timings;
    const record: CallRecord = {
      requestId: request.requestId,
      protocol: request.route.protocol,
      method: METHODS.includes(head.method) ? head.method : '_OTHER',
      route: request.route.pattern,
      status,
      outcome,
      code: outcome === 'cancelled' ? 'CANCELLED' : error?.code,
      detail: detail ?? (error && detailOf(error)),
      model: spec?.model,
      version: spec?.version,
      variant: how?.variant,
      rung: how?.rung,
      rows: this.#rows,
      batchRows: how?.batchRows,
      queueMs: timings?.queueMs,
      batchMs: timings?.batchMs,
      preprocessMs: timings?.preprocessMs,
      inferMs: timings?.inferMs,
      postprocessMs: timings?.postprocessMs,
      totalMs: this.totalMs(),
      traceId: request.traceId,
      ...this.#piecesSent(),
      requestBytes: head.contentLength ?? 0,
      responseBytes,
    };
    this.#ports.observer.finished(record);
  }
}

/** What proxies must know to pass each piece on when it comes. */
const UNBUFFERED = 'Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n';

interface Sent {
  readonly status: number;
  readonly responseBytes: number;
}

/** What a call came to. */
interface CallEnd {
  readonly outcome: Outcome;
  readonly how?: Inferred;
  readonly error?: GimbalError;
  readonly detail?: string;
}

/** For the log only: an unexpected error's own text goes there and nowhere else. */
function detailOf(error: GimbalError): string {
  if (error.code !== 'INTERNAL' || error.cause === undefined) return error.message;
  const cause =
    error.cause instanceof Error ? (error.cause.stack ?? error.cause.message) : String(error.cause);
  return `${error.message}: ${cause.slice(0, MAX_CAUSE_LENGTH)}`;
}

function byteLengthOf(body: Answer['body']): number {
  if (typeof body === 'string') return utf8Length(body);
  if (body instanceof Uint8Array) return body.byteLength;
  let total = 0;
  for (const piece of body) total += piece.byteLength;
  return total;
}

function utf8Length(text: string): number {
  let length = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    // Each half of a surrogate pair counts for two of its four bytes.
    if (code >= 0x800 && (code < 0xd800 || code > 0xdfff)) length += 2;
    else if (code >= 0x80) length += 1;
  }
  return length;
}
