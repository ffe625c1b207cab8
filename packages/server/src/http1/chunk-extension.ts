import { unreachable } from '@gimbal/core';
import { CR, SEMICOLON, TOKEN_BYTES, VALUE_BYTES } from './byte-class.ts';

const EQUALS = 0x3d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

type Step = 'name-start' | 'name' | 'value-start' | 'value' | 'quoted' | 'escaped' | 'quoted-end';

export type ExtensionOutcome = 'more' | 'line-end' | 'wrong';

/** Follows `name[=value]` pairs behind a chunk size (RFC 9112, 7.1.1), without keeping them. White space is not allowed. */
export class ChunkExtension {
  #step: Step = 'name-start';

  /** After the semicolon. */
  begin(): void {
    this.#step = 'name-start';
  }

  /** `line-end` at a CR in a place where it may be. */
  read(byte: number): ExtensionOutcome {
    switch (this.#step) {
      case 'name-start':
        return this.#go(TOKEN_BYTES[byte] === 1, 'name');
      case 'name':
        if (byte === EQUALS) return this.#go(true, 'value-start');
        return TOKEN_BYTES[byte] === 1 ? 'more' : this.#readEnd(byte);
      case 'value-start':
        return byte === QUOTE ? this.#go(true, 'quoted') : this.#go(TOKEN_BYTES[byte] === 1, 'value');
      case 'value':
        return TOKEN_BYTES[byte] === 1 ? 'more' : this.#readEnd(byte);
      case 'quoted':
        return this.#readQuoted(byte);
      case 'escaped':
        return this.#go(VALUE_BYTES[byte] === 1, 'quoted');
      case 'quoted-end':
        return this.#readEnd(byte);
      default:
        return unreachable(this.#step);
    }
  }

  #readQuoted(byte: number): ExtensionOutcome {
    if (byte === QUOTE) return this.#go(true, 'quoted-end');
    if (byte === BACKSLASH) return this.#go(true, 'escaped');
    return VALUE_BYTES[byte] === 1 ? 'more' : 'wrong';
  }

  #readEnd(byte: number): ExtensionOutcome {
    if (byte === CR) return 'line-end';
    return this.#go(byte === SEMICOLON, 'name-start');
  }

  #go(isRight: boolean, next: Step): ExtensionOutcome {
    this.#step = next;
    return isRight ? 'more' : 'wrong';
  }
}
