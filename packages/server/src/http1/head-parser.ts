import { unreachable } from '@gimbal/core';
import {
  COLON,
  CR,
  describeByte,
  HTAB,
  LF,
  SPACE,
  TARGET_BYTES,
  TOKEN_BYTES,
  VALUE_BYTES,
} from './byte-class.ts';
import { type ByteWindow, emptyWindow, NO_BYTES } from './byte-window.ts';
import type { HttpLimits } from './exchange.ts';
import { HeadFraming } from './head-framing.ts';
import { hashWith, knownName } from './header-names.ts';
import { HttpHead } from './http-head.ts';
import { type Refusal, refusal } from './refusal.ts';
import { parseTarget } from './request-target.ts';

/** Longest request target. Ours are short; a longer one is an attack or a mistake. */
const MAX_TARGET_BYTES = 8192;

/** Longest method: none that is registered comes near. */
const MAX_METHOD_BYTES = 32;

const STATUS_TARGET_TOO_LONG = 414;
const STATUS_HEAD_TOO_LARGE = 431;
const STATUS_VERSION_UNKNOWN = 505;

const VERSION_LENGTH = 8;
const VERSION_START = Uint8Array.from('HTTP/', (character) => character.charCodeAt(0));
const DIGIT_0 = 0x30;
const DIGIT_1 = 0x31;
const DIGIT_9 = 0x39;
const DOT = 0x2e;
const LETTER_G = 0x47;

/** What of the head the next byte belongs to. */
type Step =
  | 'start'
  | 'empty-line-end'
  | 'method'
  | 'target'
  | 'version'
  | 'version-end'
  | 'line'
  | 'name'
  | 'value'
  | 'value-end'
  | 'head-end'
  | 'complete';

export type HeadOutcome = 'more' | 'done' | 'refused';

/**
 * Reads request heads, strictly by RFC 9112: what is ambiguous in framing is refused, never repaired, for two readers who
 * repair differently are how requests are smuggled. It stops at the first byte that can't be right, and goes on where it
 * stopped when more bytes come, so that every split of the same bytes gives the same outcome at the same cost.
 */
export class HeadParser {
  readonly #limits: HttpLimits;
  #step: Step = 'start';
  /** Bytes of this head that were already read by earlier calls. */
  #scanned = 0;
  #bytes: Buffer = NO_BYTES;
  /** Where the head begins in `#bytes`; all offsets below count from it. */
  #base = 0;
  #at = 0;
  #end = 0;
  #partStart = 0;
  #sawEmptyLine = false;
  #methodStart = 0;
  #methodEnd = 0;
  #targetEnd = 0;
  #isHttp10 = false;
  #nameStart = 0;
  #nameEnd = 0;
  #hash = 0;
  #names: string[] = [];
  #values: number[] = [];
  readonly #framing = new HeadFraming();
  /** A name or value that was just read. */
  readonly #part = emptyWindow();
  #head: HttpHead | undefined;
  #refusal: Refusal | undefined;

  constructor(limits: HttpLimits) {
    this.#limits = limits;
  }

  /** After `done`. */
  get head(): HttpHead {
    if (!this.#head) throw new Error('no head is complete');
    return this.#head;
  }

  /** After `refused`. */
  get refusal(): Refusal {
    if (!this.#refusal) throw new Error('no head was refused');
    return this.#refusal;
  }

  /**
   * Reads on. The head begins at `window.at`, also when earlier calls have seen a part of it. `done` moves the window
   * behind the head; `more` and `refused` leave it.
   */
  advance(window: ByteWindow): HeadOutcome {
    if (this.#step === 'complete') this.#reset();
    const { maxHeadBytes } = this.#limits;
    this.#bytes = window.bytes;
    this.#base = window.at;
    this.#at = window.at + this.#scanned;
    this.#end = Math.min(window.end, window.at + maxHeadBytes);
    while (this.#at < this.#end && this.#advanceStep());
    if (this.#refusal) return 'refused';
    // `advanceStep` has changed it, which the compiler can't see.
    if ((this.#step as Step) === 'complete') {
      window.at = this.#at;
      return 'done';
    }
    this.#scanned = this.#at - this.#base;
    if (this.#scanned < maxHeadBytes) return 'more';
    this.#refuse(`its head is over the limit, expected at most ${maxHeadBytes} bytes`, STATUS_HEAD_TOO_LARGE);
    return 'refused';
  }

  #reset(): void {
    this.#step = 'start';
    this.#scanned = 0;
    this.#partStart = 0;
    this.#sawEmptyLine = false;
    this.#names = [];
    this.#values = [];
    this.#framing.reset();
    this.#head = undefined;
  }

  /** Whether to go on: not after a refusal, the end, or a part that is cut off here. */
  #advanceStep(): boolean {
    switch (this.#step) {
      case 'start':
        return this.#readStart();
      case 'empty-line-end':
        return this.#readLineEnd('start');
      case 'method':
        return this.#readMethod();
      case 'target':
        return this.#readTarget();
      case 'version':
        return this.#readVersion();
      case 'version-end':
        return this.#readLineEnd('line');
      case 'line':
        return this.#readLineStart();
      case 'name':
        return this.#readName();
      case 'value':
        return this.#readValue();
      case 'value-end':
        return this.#readLineEnd('line') && this.#record();
      case 'head-end':
        return this.#readLineEnd('complete') && this.#finish();
      case 'complete':
        return false;
      default:
        return unreachable(this.#step);
    }
  }

  #readStart(): boolean {
    if (this.#bytes[this.#at] === CR && !this.#sawEmptyLine) {
      // One empty line before a request is to be ignored (RFC 9112, 2.2): old clients end bodies with it.
      this.#sawEmptyLine = true;
      this.#at += 1;
      this.#step = 'empty-line-end';
      return true;
    }
    this.#partStart = this.#at - this.#base;
    this.#step = 'method';
    return true;
  }

  /** The LF that follows a CR. */
  #readLineEnd(next: Step): boolean {
    const byte = this.#bytes[this.#at];
    if (byte !== LF)
      return this.#refuse(`a line ends in a bare CR, expected CR LF, got CR and ${describeByte(byte)}`);
    this.#at += 1;
    this.#step = next;
    return true;
  }

  #readMethod(): boolean {
    const start = this.#base + this.#partStart;
    const stop = Math.min(this.#end, start + MAX_METHOD_BYTES + 1);
    let at = this.#at;
    while (at < stop && TOKEN_BYTES[this.#bytes[at] as number] === 1) at += 1;
    this.#at = at;
    if (at - start > MAX_METHOD_BYTES)
      return this.#refuse(`its method is over ${MAX_METHOD_BYTES} bytes long`);
    if (at === this.#end) return false;
    const byte = this.#bytes[at];
    if (byte !== SPACE || at === start) {
      return this.#refuse(`it does not begin with a method and a space, got ${describeByte(byte)}`);
    }
    this.#methodStart = this.#partStart;
    this.#methodEnd = at - this.#base;
    this.#partStart = this.#methodEnd + 1;
    this.#at = at + 1;
    this.#step = 'target';
    return true;
  }

  #readTarget(): boolean {
    const start = this.#base + this.#partStart;
    const stop = Math.min(this.#end, start + MAX_TARGET_BYTES + 1);
    let at = this.#at;
    while (at < stop && TARGET_BYTES[this.#bytes[at] as number] === 1) at += 1;
    this.#at = at;
    if (at - start > MAX_TARGET_BYTES) {
      return this.#refuse(
        `its target is over the limit, expected at most ${MAX_TARGET_BYTES} bytes`,
        STATUS_TARGET_TOO_LONG,
      );
    }
    if (at === this.#end) return false;
    const byte = this.#bytes[at];
    if (byte !== SPACE || at === start) {
      return this.#refuse(
        `its target has a character that must be percent-encoded, got ${describeByte(byte)}`,
      );
    }
    this.#targetEnd = at - this.#base;
    this.#at = at + 1;
    this.#step = 'version';
    return true;
  }

  /** `HTTP/1.1` or `HTTP/1.0` and a CR, byte by byte. */
  #readVersion(): boolean {
    const start = this.#base + this.#targetEnd + 1;
    while (this.#at < this.#end) {
      const index = this.#at - start;
      const byte = this.#bytes[this.#at] as number;
      const isRight = index === VERSION_LENGTH ? byte === CR : isVersionByte(index, byte);
      if (!isRight) {
        if (index === VERSION_LENGTH) return this.#refuse('the request line does not end in CR LF');
        const isOther = (index === 5 || index === 7) && byte >= DIGIT_0 && byte <= DIGIT_9;
        return this.#refuse(
          `its HTTP version is not spoken here, expected HTTP/1.1 or HTTP/1.0, got ${describeByte(byte)} in it`,
          isOther ? STATUS_VERSION_UNKNOWN : undefined,
        );
      }
      this.#at += 1;
      if (index === VERSION_LENGTH - 1) this.#isHttp10 = byte === DIGIT_0;
      if (index < VERSION_LENGTH) continue;
      this.#step = 'version-end';
      return true;
    }
    return false;
  }

  /** From here to the end of the line each step calls the next: as turns of the loop they would cost a fifth more. */
  #readLineStart(): boolean {
    const byte = this.#bytes[this.#at];
    if (byte === CR) {
      this.#at += 1;
      this.#step = 'head-end';
      return true;
    }
    if (byte === SPACE || byte === HTAB) {
      return this.#refuse(
        'a header line begins with white space, expected a name: folded lines are not accepted',
      );
    }
    const { maxHeaders } = this.#limits;
    if (this.#names.length >= maxHeaders) {
      return this.#refuse(`it has too many headers, expected at most ${maxHeaders}`, STATUS_HEAD_TOO_LARGE);
    }
    this.#nameStart = this.#at - this.#base;
    this.#hash = 0;
    this.#step = 'name';
    return this.#readName();
  }

  #readName(): boolean {
    const bytes = this.#bytes;
    const end = this.#end;
    let at = this.#at;
    let hash = this.#hash;
    while (at < end && TOKEN_BYTES[bytes[at] as number] === 1) {
      hash = hashWith(hash, bytes[at] as number);
      at += 1;
    }
    this.#at = at;
    this.#hash = hash;
    if (at === end) return false;
    const byte = bytes[at];
    if (byte !== COLON || at === this.#base + this.#nameStart) {
      return this.#refuse(`a header name is not a token before a colon, got ${describeByte(byte)} in it`);
    }
    this.#nameEnd = at - this.#base;
    this.#at = at + 1;
    this.#step = 'value';
    return this.#readValue();
  }

  #readValue(): boolean {
    const bytes = this.#bytes;
    const end = this.#end;
    let at = this.#at;
    while (at < end && VALUE_BYTES[bytes[at] as number] === 1) at += 1;
    this.#at = at;
    if (at === end) return false;
    const byte = bytes[at];
    if (byte === LF) return this.#refuse('a line ends in a bare LF, expected CR LF');
    if (byte !== CR) return this.#refuse(`a header value has a control character, got ${describeByte(byte)}`);
    this.#at = at + 1;
    this.#step = 'value-end';
    return at + 1 < end && this.#readLineEnd('line') && this.#record();
  }

  /** A header line is complete: its CR LF has just been read. */
  #record(): boolean {
    const bytes = this.#bytes;
    const base = this.#base;
    let start = base + this.#nameEnd + 1;
    let end = this.#at - 2;
    while (start < end && isBlank(bytes[start] as number)) start += 1;
    while (end > start && isBlank(bytes[end - 1] as number)) end -= 1;
    const part = this.#part;
    part.bytes = bytes;
    part.at = base + this.#nameStart;
    part.end = base + this.#nameEnd;
    const known = knownName(this.#hash, part);
    this.#names.push(known ? known.name : bytes.toString('latin1', part.at, part.end).toLowerCase());
    this.#values.push(start - base, end - base);
    if (!known?.isFraming) return true;
    // Allowed by the grammar, but llhttp takes "chunked" and a tab for another coding: what readers differ in is refused.
    if (bytes[start - 1] === HTAB || bytes[end] === HTAB) {
      return this.#refuse(`header ${known.name} has a tab around its value, expected spaces or nothing`);
    }
    part.at = start;
    part.end = end;
    return this.#accept(this.#framing.record(known.name, part));
  }

  #finish(): boolean {
    const framing = this.#framing;
    if (!this.#accept(framing.check(this.#isHttp10))) return false;
    const text = this.#bytes.toString('latin1', this.#base, this.#at);
    const method = this.#methodIn(text);
    const target = parseTarget(text.slice(this.#methodEnd + 1, this.#targetEnd), method);
    if (!target) return this.#refuse('its target is neither a path nor a URL, expected it to begin with "/"');
    this.#head = new HttpHead({
      text,
      method,
      path: target.path,
      query: target.query,
      contentLength: framing.isChunked ? undefined : (framing.contentLength ?? 0),
      names: this.#names,
      values: this.#values,
      keepAlive: framing.keepsAlive(this.#isHttp10),
      isHttp10: this.#isHttp10,
      expectsContinue: framing.expectsContinue,
    });
    return false;
  }

  #methodIn(text: string): string {
    const length = this.#methodEnd - this.#methodStart;
    if (length === 4 && text.startsWith('POST', this.#methodStart)) return 'POST';
    if (length === 3 && text.charCodeAt(this.#methodStart) === LETTER_G) {
      if (text.startsWith('GET', this.#methodStart)) return 'GET';
    }
    return text.slice(this.#methodStart, this.#methodEnd);
  }

  #accept(found: Refusal | undefined): boolean {
    this.#refusal = found;
    return found === undefined;
  }

  #refuse(message: string, status?: number): false {
    this.#refusal = refusal(message, status);
    return false;
  }
}

/** Whether `byte` is right at `index` of `HTTP/1.x`. */
function isVersionByte(index: number, byte: number): boolean {
  if (index < VERSION_START.length) return byte === VERSION_START[index];
  if (index === 5) return byte === DIGIT_1;
  if (index === 6) return byte === DOT;
  return byte === DIGIT_0 || byte === DIGIT_1;
}

function isBlank(byte: number): boolean {
  return byte === SPACE || byte === HTAB;
}
