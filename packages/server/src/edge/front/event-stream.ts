import { type GimbalError, toGimbalError } from '@gimbal/core';
import type { EdgePorts, EdgeRequest, Inferred, PieceSource, ReplyStream } from '../route.ts';
import { qualityOf } from './accept-quality.ts';
import { errorDocument, retryAfterOf } from './errors.ts';

/** `events`: server-sent events, as browsers read them; `lines`: one JSON document a line. */
export type StreamFormat = 'events' | 'lines';

/** What clients may name in Accept; `whole`: one document. */
const FORMATS: ReadonlyMap<string, StreamFormat | 'whole'> = new Map([
  ['text/event-stream', 'events'],
  ['application/x-ndjson', 'lines'],
  ['application/ndjson', 'lines'],
  ['application/jsonl', 'lines'],
  ['application/json', 'whole'],
]);

const CONTENT_TYPES: Readonly<Record<StreamFormat, string>> = {
  events: 'text/event-stream; charset=utf-8',
  lines: 'application/x-ndjson',
};

const PIECE_START = Buffer.from('data: ');
const PIECE_END = Buffer.from('\n\n');
const LINE_END = Buffer.from('\n');
/** A comment: clients pass over it, proxies see that somebody is there. */
const HEARTBEAT = Buffer.from(':\n\n');
const NOTHING = Buffer.alloc(0);

/** The form in pieces that a client prefers; undefined when it wants one answer. The first of equals wins. */
export function wantedFormat(accept: string | undefined): StreamFormat | undefined {
  let best: StreamFormat | 'whole' = 'whole';
  let bestQuality = 0;
  for (const range of (accept ?? '').split(',')) {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const format = FORMATS.get(name);
    const quality = format ? qualityOf(parameters) : 0;
    if (!format || quality <= bestQuality) continue;
    best = format;
    bestQuality = quality;
  }
  return best === 'whole' ? undefined : best;
}

/** What a protocol puts around the pieces. */
export interface EventStyle {
  readonly format: StreamFormat;
  /** Says that nothing more comes; undefined where the end of the body says it. */
  readonly end: ((pieces: number, how: Inferred) => string) | undefined;
  /** Whether errors are events of a name of their own. */
  readonly namesEvents: boolean;
}

/**
 * An answer in pieces, as text. Its head is sent with the first piece, so that what goes wrong before it has a status of
 * its own; where the model thinks for long it is sent with the first heartbeat.
 */
export class EventStream {
  readonly #ports: EdgePorts;
  readonly #request: EdgeRequest;
  readonly #style: EventStyle;
  #reply: ReplyStream | undefined;
  #pieces = 0;

  constructor(ports: EdgePorts, request: EdgeRequest, style: EventStyle) {
    this.#ports = ports;
    this.#request = request;
    this.#style = style;
    // Lines have no comments.
    if (style.format === 'events') request.exchange.onSilence(ports.stream.heartbeatMs, this.#beat);
  }

  /** `onTaken` is called once, when the client has room for more. */
  piece(json: readonly Uint8Array[], by: PieceSource, onTaken: () => void): void {
    this.#reply ??= this.#begin(by);
    this.#pieces += 1;
    this.#reply.piece(this.#framed(json), onTaken);
  }

  end(how: Inferred): void {
    this.#reply ??= this.#begin(how);
    const said = this.#style.end?.(this.#pieces, how);
    this.#reply.end(said === undefined ? NOTHING : this.#event('end', said), how);
  }

  /** Before the first piece the answer is an ordinary error. */
  fail(thrown: unknown): void {
    const error = toGimbalError(thrown);
    if (!this.#reply) this.#request.reply.fail(error);
    else this.#reply.fail(error, this.#event('error', this.#documentOf(error)));
  }

  readonly #beat = (): void => {
    this.#reply ??= this.#begin(undefined);
    this.#reply.heartbeat(HEARTBEAT);
  };

  #begin(by: PieceSource | undefined): ReplyStream {
    return this.#request.reply.stream({ contentType: CONTENT_TYPES[this.#style.format], by });
  }

  #framed(json: readonly Uint8Array[]): Buffer {
    if (this.#style.format === 'lines') return Buffer.concat([...json, LINE_END]);
    return Buffer.concat([PIECE_START, ...json, PIECE_END]);
  }

  /** JSON has no line ends outside of strings and none in them: one line of an event holds a document. */
  #event(name: 'end' | 'error', json: string): Buffer {
    if (this.#style.format === 'lines') {
      return Buffer.from(this.#style.namesEvents ? `{"${name}":${json}}\n` : `${json}\n`);
    }
    return Buffer.from(this.#style.namesEvents ? `event: ${name}\ndata: ${json}\n\n` : `data: ${json}\n\n`);
  }

  #documentOf(error: GimbalError): string {
    const { requestId, route, exchange } = this.#request;
    return errorDocument(error, route.errors, {
      requestId,
      instance: exchange.head.path,
      retryAfter: retryAfterOf(error, this.#ports.random),
      members: '',
    });
  }
}
