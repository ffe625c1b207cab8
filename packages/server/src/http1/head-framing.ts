import { describeByte, HOST_BYTES } from './byte-class.ts';
import type { ByteWindow } from './byte-window.ts';
import { equals } from './header-names.ts';
import { type Refusal, refusal, refusalOf } from './refusal.ts';

/** Digits of a Content-Length that stay exact in a number. */
const MAX_LENGTH_DIGITS = 15;

const STATUS_EXPECTATION_FAILED = 417;

const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;

const CHUNKED = bytesOf('chunked');
const CLOSE = bytesOf('close');
const KEEP_ALIVE = bytesOf('keep-alive');
const CONTINUE = bytesOf('100-continue');

/** What the headers of one head say of where its body ends and of the connection's future. */
export class HeadFraming {
  /** Undefined when there is no Content-Length. */
  contentLength: number | undefined;
  isChunked = false;
  expectsContinue = false;
  #hasHost = false;
  #saysClose = false;
  #saysKeepAlive = false;
  #expectsOther = false;

  reset(): void {
    this.contentLength = undefined;
    this.isChunked = false;
    this.expectsContinue = false;
    this.#hasHost = false;
    this.#saysClose = false;
    this.#saysKeepAlive = false;
    this.#expectsOther = false;
  }

  /** Notes one header; `value` is without white space around it. */
  record(name: string, value: ByteWindow): Refusal | undefined {
    switch (name) {
      case 'host':
        return this.#recordHost(value);
      case 'content-length':
        return this.#recordLength(value);
      case 'transfer-encoding':
        return this.#recordCoding(value);
      case 'connection':
        this.#recordConnection(value);
        return undefined;
      case 'expect':
        if (isWord(CONTINUE, value)) this.expectsContinue = true;
        else this.#expectsOther = true;
        return undefined;
      default:
        return undefined;
    }
  }

  /** What can only be judged when all headers are known. */
  check(isHttp10: boolean): Refusal | undefined {
    if (this.isChunked && this.contentLength !== undefined) {
      return refusal('it has both Transfer-Encoding and Content-Length, expected one of them');
    }
    if (isHttp10) {
      // HTTP/1.0 has no expectations: they are ignored (RFC 9110, 10.1.1).
      this.expectsContinue = false;
      if (this.isChunked) return refusal('it has Transfer-Encoding, which HTTP/1.0 does not know');
      return undefined;
    }
    if (!this.#hasHost) return refusal('header Host is missing, expected it in HTTP/1.1');
    if (this.#expectsOther) {
      return refusal('header Expect can not be met, expected "100-continue"', STATUS_EXPECTATION_FAILED);
    }
    return undefined;
  }

  /** Whether the client wants another request on this connection. */
  keepsAlive(isHttp10: boolean): boolean {
    return !this.#saysClose && (!isHttp10 || this.#saysKeepAlive);
  }

  #recordHost({ bytes, at, end }: ByteWindow): Refusal | undefined {
    if (this.#hasHost) return refusal('header Host comes twice, expected it once');
    this.#hasHost = true;
    for (let index = at; index < end; index += 1) {
      const byte = bytes[index] as number;
      if (HOST_BYTES[byte] !== 1) {
        return refusal(`header Host is no host and port, got ${describeByte(byte)} in it`);
      }
    }
    return undefined;
  }

  #recordLength({ bytes, at, end }: ByteWindow): Refusal | undefined {
    // RFC 9112, 6.3 allows equal ones to be joined; nobody honest sends two.
    if (this.contentLength !== undefined) {
      return refusal('header Content-Length comes twice, expected it once');
    }
    let length = 0;
    for (let index = at; index < end; index += 1) {
      const byte = bytes[index] as number;
      if (byte < DIGIT_0 || byte > DIGIT_9) {
        return refusal(`header Content-Length is no number, expected digits, got ${describeByte(byte)}`);
      }
      length = length * 10 + (byte - DIGIT_0);
    }
    if (end === at) return refusal('header Content-Length is empty, expected digits');
    if (end - at > MAX_LENGTH_DIGITS) {
      return refusalOf(
        'INPUT_TOO_LARGE',
        `Cannot read the body: its Content-Length is beyond all limits, expected at most ${MAX_LENGTH_DIGITS} digits, got ${end - at}`,
      );
    }
    this.contentLength = length;
    return undefined;
  }

  #recordCoding(value: ByteWindow): Refusal | undefined {
    if (this.isChunked || !isWord(CHUNKED, value)) {
      return refusal('header Transfer-Encoding is not understood, expected "chunked" once and nothing else');
    }
    this.isChunked = true;
    return undefined;
  }

  #recordConnection(value: ByteWindow): void {
    if (isWord(KEEP_ALIVE, value)) this.#saysKeepAlive = true;
    else if (isWord(CLOSE, value)) this.#saysClose = true;
    else this.#recordConnectionList(value.bytes.toString('latin1', value.at, value.end));
  }

  #recordConnectionList(value: string): void {
    for (const option of value.toLowerCase().split(',')) {
      const name = option.trim();
      if (name === 'close') this.#saysClose = true;
      else if (name === 'keep-alive') this.#saysKeepAlive = true;
    }
  }
}

function isWord(word: Uint8Array, { bytes, at, end }: ByteWindow): boolean {
  return end - at === word.length && equals(word, bytes, at);
}

function bytesOf(word: string): Uint8Array {
  return Uint8Array.from(word, (character) => character.charCodeAt(0));
}
