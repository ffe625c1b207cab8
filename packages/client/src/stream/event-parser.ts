import { AnswerError } from '../errors.ts';

/** Characters of one event: more is no token stream but a body without ends. */
const MAX_EVENT_LENGTH = 16 * 1024 * 1024;

/** One message of a stream; `event` is "message" when it has no name. */
export interface StreamEvent {
  readonly event: string;
  readonly data: string;
}

/** Takes text as it arrives and gives the events that are whole. */
export interface EventParser {
  push(text: string): StreamEvent[];
  /** The stream has ended: what is left. */
  end(): StreamEvent[];
}

/** Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream). */
export class ServerSentEvents implements EventParser {
  readonly #lines = new LineSplitter(/\r\n|\n|\r/g);
  #event = '';
  #data: string[] = [];
  #length = 0;

  push(text: string): StreamEvent[] {
    return this.#lines.push(text).flatMap((line) => this.#line(line));
  }

  /** An event without its blank line was cut off: as the standard says, it is dropped. */
  end(): StreamEvent[] {
    return this.#lines.end().flatMap((line) => this.#line(line));
  }

  #line(line: string): StreamEvent[] {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    // A line that begins with a colon is a comment: proxies are kept awake by it.
    if (colon === 0) return [];
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.#event = value;
    else if (field === 'data') {
      this.#length = bounded(this.#length + value.length);
      this.#data.push(value);
    }
    return [];
  }

  #dispatch(): StreamEvent[] {
    const event = this.#event || 'message';
    const data = this.#data;
    this.#event = '';
    this.#data = [];
    this.#length = 0;
    return data.length === 0 ? [] : [{ event, data: data.join('\n') }];
  }
}

/** One JSON document a line (https://github.com/ndjson/ndjson-spec). */
export class JsonLines implements EventParser {
  readonly #lines = new LineSplitter(/\r?\n/g);

  push(text: string): StreamEvent[] {
    return this.#events(this.#lines.push(text));
  }

  /** The last line may lack its end; a document that was cut off fails when it is parsed. */
  end(): StreamEvent[] {
    return this.#events(this.#lines.end());
  }

  #events(lines: readonly string[]): StreamEvent[] {
    return lines.filter((line) => line.trim() !== '').map((data) => ({ event: 'message', data }));
  }
}

/** Lines out of pieces of text. */
class LineSplitter {
  readonly #ends: RegExp;
  #rest = '';

  constructor(ends: RegExp) {
    this.#ends = ends;
  }

  push(text: string): string[] {
    const whole = this.#rest + text;
    // A carriage return at the end may be half of an end.
    const held = whole.endsWith('\r') ? 1 : 0;
    const lines = whole.slice(0, whole.length - held).split(this.#ends);
    const last = lines.pop() ?? '';
    bounded(last.length);
    this.#rest = last + whole.slice(whole.length - held);
    return lines;
  }

  end(): string[] {
    const rest = this.#rest;
    this.#rest = '';
    const lines = rest.split(this.#ends);
    if (lines.at(-1) === '') lines.pop();
    return lines;
  }
}

/** Throws an AnswerError beyond the bound. */
export function bounded(length: number): number {
  if (length <= MAX_EVENT_LENGTH) return length;
  throw new AnswerError(
    `Cannot read the stream: expected events of at most ${MAX_EVENT_LENGTH} characters, got a longer one`,
    { code: 'BAD_ANSWER' },
  );
}
