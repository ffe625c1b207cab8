import { GimbalError } from '../errors/gimbal-error.ts';
import { ByteBuffer } from './byte-buffer.ts';
import { asciiOf, internName, MAX_NAME_BYTES } from './interned-names.ts';
import { jsonPointerAt } from './json-pointer.ts';
import { decodeUtf8, utf8SequenceLength, writeCodePoint } from './utf8.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** What `next` gives when the text is over. */
export const END = -1;

/** Characters of a bad token that a message quotes. */
const MAX_QUOTED = 32;

/** The kinds of JSON values, for messages. */
export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

/** Where unescaped strings are put together; read before the next one. */
const unescaped = new ByteBuffer();

/**
 * A strict pull scanner over UTF-8 JSON (RFC 8259): it makes no tree, allocates nothing for what is skipped, and never
 * nests deeper than `maxDepth`. Errors are MALFORMED_REQUEST for broken syntax and INVALID_INPUT for a value of the wrong
 * kind, both with a JSON pointer.
 */
export class JsonScan {
  readonly bytes: Uint8Array;
  /** The next byte to be looked at. */
  at = 0;
  readonly #maxDepth: number;
  #depth = 0;
  /** True between an opening bracket and the first member or item. */
  #isFresh = false;

  constructor(bytes: Uint8Array, maxDepth: number) {
    this.bytes = bytes;
    this.#maxDepth = maxDepth;
  }

  /** The first byte of the next token, not consumed; END when only white space is left. */
  next(): number {
    const { bytes } = this;
    let at = this.at;
    let byte = bytes[at] as number;
    while (byte <= 0x20 && isSpace(byte)) {
      at += 1;
      byte = bytes[at] as number;
    }
    this.at = at;
    return at < bytes.length ? byte : END;
  }

  openObject(): void {
    this.#open(OPEN_OBJECT, 'object');
  }

  openArray(): void {
    this.#open(OPEN_ARRAY, 'array');
  }

  /** The name of the next member, its value ahead; undefined when the object has ended, which is then consumed. */
  nextKey(): string | undefined {
    if (!this.#advance(CLOSE_OBJECT)) return undefined;
    if (this.next() !== QUOTE) throw this.syntaxError('a member name in quotes');
    const key = this.string();
    if (this.next() !== COLON) throw this.syntaxError('":"');
    this.at += 1;
    this.#isFresh = false;
    return key;
  }

  /** True with an item of the array ahead; false when the array has ended, which is then consumed. */
  nextItem(): boolean {
    if (!this.#advance(CLOSE_ARRAY)) return false;
    this.#isFresh = false;
    return true;
  }

  /** Consumes an array's opening bracket known to be ahead. The depth is checked. */
  descend(): void {
    this.#depth += 1;
    if (this.#depth > this.#maxDepth) throw this.#tooDeep();
    this.at += 1;
    this.#isFresh = true;
  }

  /** Consumes a closing bracket known to be ahead. */
  ascend(): void {
    this.#depth -= 1;
    this.at += 1;
    this.#isFresh = false;
  }

  string(): string {
    if (this.next() !== QUOTE) throw this.kindError('a string');
    const { bytes } = this;
    const start = this.at + 1;
    let at = start;
    let byte = bytes[at] as number;
    while (byte >= 0x20 && byte < 0x80 && byte !== QUOTE && byte !== BACKSLASH) {
      at += 1;
      byte = bytes[at] as number;
    }
    if (byte === QUOTE) {
      this.at = at + 1;
      return at - start <= MAX_NAME_BYTES ? internName(bytes, start, at) : asciiOf(bytes, start, at);
    }
    unescaped.clear();
    this.stringBytes(unescaped);
    return decodeUtf8(unescaped.bytes);
  }

  /** Appends the string ahead as UTF-8, escapes resolved. Lone surrogates and broken UTF-8 are refused. */
  stringBytes(target: ByteBuffer): void {
    if (this.next() !== QUOTE) throw this.kindError('a string');
    const { bytes } = this;
    const end = bytes.length;
    let at = this.at + 1;
    let start = at;
    while (at < end) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) {
        target.append(bytes, start, at);
        this.at = at + 1;
        return;
      }
      if (byte === BACKSLASH) {
        target.append(bytes, start, at);
        this.at = at;
        this.#escape(target);
        at = this.at;
        start = at;
      } else if (byte < 0x20) {
        throw this.syntaxErrorAt(at, 'control characters in a string to be escaped');
      } else {
        const length = byte < 0x80 ? 1 : utf8SequenceLength(bytes, at, end);
        if (length === 0) throw this.syntaxErrorAt(at, 'UTF-8');
        at += length;
      }
    }
    throw this.syntaxErrorAt(end, 'the end of a string');
  }

  /** A finite JSON number as the nearest double. */
  number(): number {
    const first = this.next();
    if (!(isDigit(first) || first === MINUS) || this.atNonFinite()) throw this.kindError('a number');
    const start = this.at;
    this.passNumber();
    const value = Number(asciiOf(this.bytes, start, this.at));
    if (!Number.isFinite(value)) throw this.syntaxErrorAt(start, 'a number that a double can hold');
    return value;
  }

  boolean(): boolean {
    switch (this.next()) {
      case 0x74:
        this.#literal('true');
        return true;
      case 0x66:
        this.#literal('false');
        return false;
      default:
        throw this.kindError('true or false');
    }
  }

  /** The kind of the value ahead; a syntax error when there is none. */
  kind(): JsonKind {
    const byte = this.next();
    switch (byte) {
      case OPEN_OBJECT:
        return 'object';
      case OPEN_ARRAY:
        return 'array';
      case QUOTE:
        return 'string';
      case 0x74:
      case 0x66:
        return 'boolean';
      case 0x6e:
        return 'null';
      default:
        if (isDigit(byte) || byte === MINUS || this.atNonFinite()) return 'number';
        throw this.syntaxError('a JSON value');
    }
  }

  /** Passes over the value ahead, checking its syntax; NaN and infinities pass as numbers. Recursion ends at the depth limit. */
  skip(): void {
    switch (this.kind()) {
      case 'object':
        this.openObject();
        while (this.nextKey() !== undefined) this.skip();
        return;
      case 'array':
        this.openArray();
        while (this.nextItem()) this.skip();
        return;
      case 'string':
        unescaped.clear();
        this.stringBytes(unescaped);
        return;
      case 'number':
        if (this.atNonFinite()) this.nonFinite();
        else this.passNumber();
        return;
      case 'boolean':
        this.boolean();
        return;
      case 'null':
        this.#literal('null');
        return;
    }
  }

  /** Only white space may follow. */
  finish(): void {
    if (this.next() !== END) throw this.syntaxError('the end of the body');
  }

  /** NaN, Infinity, Inf, signed or not: no JSON, but what this protocol's servers write and read. */
  atNonFinite(): boolean {
    const at = this.bytes[this.at] === MINUS ? this.at + 1 : this.at;
    return this.bytes[at] === 0x4e || this.bytes[at] === 0x49;
  }

  /** Consumes the non-finite literal ahead. */
  nonFinite(): number {
    const isNegative = this.bytes[this.at] === MINUS;
    if (isNegative) this.at += 1;
    if (this.bytes[this.at] === 0x4e) {
      this.#literal('NaN');
      return Number.NaN;
    }
    this.#literal(this.bytes[this.at + 3] === 0x69 ? 'Infinity' : 'Inf');
    return isNegative ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }

  /** Passes over the number ahead, by the strict grammar. */
  passNumber(): void {
    const { bytes } = this;
    const start = this.at;
    let at = start;
    if (bytes[at] === MINUS) at += 1;
    if (bytes[at] === 0x30) at += 1;
    else at = this.#digits(at, start);
    if (bytes[at] === 0x2e) at = this.#digits(at + 1, start);
    if (bytes[at] === 0x65 || bytes[at] === 0x45) {
      at += 1;
      if (bytes[at] === 0x2b || bytes[at] === MINUS) at += 1;
      at = this.#digits(at, start);
    }
    if (at < bytes.length && !isDelimiter(bytes[at] as number)) {
      throw this.syntaxErrorAt(start, 'a number');
    }
    this.at = at;
  }

  syntaxError(expected: string): GimbalError {
    return this.syntaxErrorAt(this.at, expected);
  }

  syntaxErrorAt(at: number, expected: string): GimbalError {
    const received = at >= this.bytes.length ? 'the end of the text' : this.quote(at);
    const pointer = jsonPointerAt(this.bytes, at);
    return new GimbalError(
      'MALFORMED_REQUEST',
      `Cannot read the JSON: expected ${expected}, got ${received} at byte ${at}${inPointer(pointer)}`,
      { fields: [{ pointer, expected, received }] },
    );
  }

  /** A value of another kind than the one wanted, or broken syntax when it is no value at all. */
  kindError(expected: string): GimbalError {
    const kind = this.kind();
    const received = kind === 'object' || kind === 'array' ? `an ${kind}` : this.quote(this.at);
    const pointer = jsonPointerAt(this.bytes, this.at);
    return new GimbalError(
      'INVALID_INPUT',
      `Cannot read the JSON: expected ${expected}, got ${received}${inPointer(pointer)}`,
      { fields: [{ pointer, expected, received }] },
    );
  }

  /** The token that begins at a byte, cut off when long, in quotes. */
  quote(at: number): string {
    let end = at + 1;
    while (end < this.bytes.length && end - at < MAX_QUOTED && !isDelimiter(this.bytes[end] as number))
      end += 1;
    let text = decodeUtf8(this.bytes, at, end);
    if (end - at === MAX_QUOTED) text += '…';
    return JSON.stringify(text);
  }

  #open(byte: number, kind: 'object' | 'array'): void {
    if (this.next() !== byte) throw this.kindError(`an ${kind}`);
    this.descend();
  }

  #tooDeep(): GimbalError {
    const pointer = jsonPointerAt(this.bytes, this.at);
    const expected = `at most ${this.#maxDepth} levels`;
    return new GimbalError(
      'MALFORMED_REQUEST',
      `Cannot read the JSON: it is nested too deep, expected ${expected}, got more`,
      {
        fields: [{ pointer, expected, received: 'more' }],
      },
    );
  }

  /** Past the comma to the next member or item: false when the closing bracket came, which is consumed. */
  #advance(closing: number): boolean {
    const byte = this.next();
    if (byte === closing) {
      this.ascend();
      return false;
    }
    if (this.#isFresh) return true;
    if (byte !== COMMA) {
      throw this.syntaxError(closing === CLOSE_ARRAY ? '"," or "]"' : '"," or "}"');
    }
    this.at += 1;
    return true;
  }

  #escape(target: ByteBuffer): void {
    const start = this.at;
    const code = this.bytes[start + 1];
    this.at += 2;
    const simple = code === undefined ? -1 : SIMPLE_ESCAPES.indexOf(code);
    if (simple >= 0) {
      target.push(SIMPLE_MEANINGS[simple] as number);
      return;
    }
    if (code !== 0x75) throw this.syntaxErrorAt(start, 'an escape that JSON knows');
    let codePoint = this.#hex4(start);
    if (codePoint >= 0xd800 && codePoint <= 0xdfff) {
      const isPair =
        codePoint < 0xdc00 && this.bytes[this.at] === BACKSLASH && this.bytes[this.at + 1] === 0x75;
      if (!isPair) throw this.syntaxErrorAt(start, 'a surrogate pair');
      this.at += 2;
      const low = this.#hex4(start);
      if (low < 0xdc00 || low > 0xdfff) throw this.syntaxErrorAt(start, 'a surrogate pair');
      codePoint = 0x10000 + ((codePoint - 0xd800) << 10) + (low - 0xdc00);
    }
    const end = writeCodePoint(CODE_POINT, 0, codePoint);
    target.append(CODE_POINT, 0, end);
  }

  #hex4(start: number): number {
    let value = 0;
    for (let index = 0; index < 4; index += 1) {
      const digit = hexDigit(this.bytes[this.at + index]);
      if (digit < 0) throw this.syntaxErrorAt(start, 'four hexadecimal digits after "\\u"');
      value = value * 16 + digit;
    }
    this.at += 4;
    return value;
  }

  /** At least one digit from `at` on; where they end. */
  #digits(at: number, start: number): number {
    let end = at;
    while (isDigit(this.bytes[end] as number)) end += 1;
    if (end === at) throw this.syntaxErrorAt(start, 'a number');
    return end;
  }

  #literal(text: string): void {
    const start = this.at;
    for (let index = 0; index < text.length; index += 1) {
      if (this.bytes[start + index] !== text.charCodeAt(index))
        throw this.syntaxErrorAt(start, 'a JSON value');
    }
    const end = start + text.length;
    if (end < this.bytes.length && !isDelimiter(this.bytes[end] as number)) {
      throw this.syntaxErrorAt(start, 'a JSON value');
    }
    this.at = end;
  }
}

function inPointer(pointer: string): string {
  return pointer === '' ? '' : ` in "${pointer}"`;
}

const CODE_POINT = new Uint8Array(4);

/** `"`, `\`, `/`, b, f, n, r, t and what they mean. */
const SIMPLE_ESCAPES = [0x22, 0x5c, 0x2f, 0x62, 0x66, 0x6e, 0x72, 0x74];
const SIMPLE_MEANINGS = [0x22, 0x5c, 0x2f, 0x08, 0x0c, 0x0a, 0x0d, 0x09];

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** What may stand after a number or a literal. */
function isDelimiter(byte: number): boolean {
  return byte === COMMA || byte === CLOSE_ARRAY || byte === CLOSE_OBJECT || byte === COLON || isSpace(byte);
}

function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
