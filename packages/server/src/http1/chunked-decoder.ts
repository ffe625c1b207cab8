import { unreachable } from '@gimbal/core';
import {
  COLON,
  CR,
  describeByte,
  HEXADECIMAL,
  LF,
  SEMICOLON,
  TOKEN_BYTES,
  VALUE_BYTES,
} from './byte-class.ts';
import type { ByteWindow } from './byte-window.ts';
import { ChunkExtension } from './chunk-extension.ts';
import { type Refusal, refusal } from './refusal.ts';

/** Hexadecimal digits of a chunk size, leading zeros included: 2^40 is beyond any limit of a body. */
const MAX_SIZE_DIGITS = 10;

/**
 * Bytes of chunk extensions in a whole body. Nobody uses them but those who want a server to read for nothing
 * (CVE-2024-22019).
 */
const MAX_EXTENSION_BYTES = 4096;

/** Bytes of all trailer lines. They are checked and dropped. */
const MAX_TRAILER_BYTES = 4096;

const NOT_HEXADECIMAL = 0xff;

type Step =
  | 'size'
  | 'extension'
  | 'size-end'
  | 'payload'
  | 'payload-cr'
  | 'payload-lf'
  | 'trailer'
  | 'trailer-name'
  | 'trailer-value'
  | 'trailer-end'
  | 'body-end'
  | 'ended';

/** `payload`: a piece lies between `payloadStart` and `payloadEnd` of the window's bytes. */
export type ChunkOutcome = 'payload' | 'more' | 'ended' | 'refused';

/** Takes a chunked body apart (RFC 9112, 7.1), strictly, a byte at a time if it comes so. Payload is never copied. */
export class ChunkedDecoder {
  payloadStart = 0;
  payloadEnd = 0;
  #step: Step = 'size';
  #size = 0;
  #digits = 0;
  #extensionBytes = 0;
  #trailerBytes = 0;
  readonly #extension = new ChunkExtension();
  #refusal: Refusal | undefined;

  /** After `refused`. */
  get refusal(): Refusal {
    if (!this.#refusal) throw new Error('no chunk was refused');
    return this.#refusal;
  }

  reset(): void {
    this.#step = 'size';
    this.#size = 0;
    this.#digits = 0;
    this.#extensionBytes = 0;
    this.#trailerBytes = 0;
    this.#refusal = undefined;
  }

  /** Reads on to the next piece of payload, the end, or the end of what there is; moves `window.at` behind it. */
  advance(window: ByteWindow): ChunkOutcome {
    while (this.#step !== 'ended' && window.at < window.end) {
      if (this.#step === 'payload') return this.#takePayload(window);
      if (!this.#advanceStep(window)) return 'refused';
    }
    return this.#step === 'ended' ? 'ended' : 'more';
  }

  #takePayload(window: ByteWindow): 'payload' {
    const length = Math.min(this.#size, window.end - window.at);
    this.payloadStart = window.at;
    this.payloadEnd = window.at + length;
    window.at = this.payloadEnd;
    this.#size -= length;
    if (this.#size === 0) this.#step = 'payload-cr';
    return 'payload';
  }

  /** Reads one byte. */
  #advanceStep(window: ByteWindow): boolean {
    const byte = window.bytes[window.at] as number;
    window.at += 1;
    switch (this.#step) {
      case 'size':
        return this.#readSize(byte);
      case 'extension':
        return this.#readExtension(byte);
      case 'size-end':
        return this.#expect(byte, LF) && this.#beginChunk();
      case 'payload-cr':
        this.#step = 'payload-lf';
        return this.#expect(byte, CR);
      case 'payload-lf':
        this.#step = 'size';
        return this.#expect(byte, LF);
      case 'trailer':
        return this.#readTrailerStart(byte);
      case 'trailer-name':
        return this.#readTrailerName(byte);
      case 'trailer-value':
        return this.#readTrailerValue(byte);
      case 'trailer-end':
        this.#step = 'trailer';
        return this.#expect(byte, LF);
      case 'body-end':
        this.#step = 'ended';
        return this.#expect(byte, LF);
      case 'payload':
      case 'ended':
        return false;
      default:
        return unreachable(this.#step);
    }
  }

  #readSize(byte: number): boolean {
    const value = HEXADECIMAL[byte] as number;
    if (value !== NOT_HEXADECIMAL) {
      this.#digits += 1;
      if (this.#digits > MAX_SIZE_DIGITS)
        return this.#refuse(`a chunk size has over ${MAX_SIZE_DIGITS} digits`);
      this.#size = this.#size * 16 + value;
      return true;
    }
    if (this.#digits > 0 && byte === CR) {
      this.#step = 'size-end';
      return true;
    }
    if (this.#digits > 0 && byte === SEMICOLON) {
      this.#extension.begin();
      this.#step = 'extension';
      return true;
    }
    return this.#refuse(`a chunk size is no hexadecimal number, got ${describeByte(byte)} in it`);
  }

  #readExtension(byte: number): boolean {
    this.#extensionBytes += 1;
    if (this.#extensionBytes > MAX_EXTENSION_BYTES) {
      return this.#refuse(
        `its chunk extensions are over the limit, expected at most ${MAX_EXTENSION_BYTES} bytes`,
      );
    }
    const outcome = this.#extension.read(byte);
    if (outcome === 'wrong') {
      return this.#refuse(
        `a chunk extension is not a list of names and values, got ${describeByte(byte)} in it`,
      );
    }
    if (outcome === 'line-end') this.#step = 'size-end';
    return true;
  }

  #beginChunk(): boolean {
    this.#step = this.#size === 0 ? 'trailer' : 'payload';
    this.#digits = 0;
    return true;
  }

  #readTrailerStart(byte: number): boolean {
    if (byte === CR) {
      this.#step = 'body-end';
      return true;
    }
    if (TOKEN_BYTES[byte] !== 1) {
      return this.#refuse(`a trailer does not begin with a name, got ${describeByte(byte)}`);
    }
    this.#step = 'trailer-name';
    return this.#countTrailerByte();
  }

  #readTrailerName(byte: number): boolean {
    if (byte === COLON) this.#step = 'trailer-value';
    else if (TOKEN_BYTES[byte] !== 1) {
      return this.#refuse(`a trailer name is not a token before a colon, got ${describeByte(byte)} in it`);
    }
    return this.#countTrailerByte();
  }

  #readTrailerValue(byte: number): boolean {
    if (byte === CR) {
      this.#step = 'trailer-end';
      return true;
    }
    if (VALUE_BYTES[byte] !== 1) {
      return this.#refuse(`a trailer value has a control character, got ${describeByte(byte)}`);
    }
    return this.#countTrailerByte();
  }

  #countTrailerByte(): boolean {
    this.#trailerBytes += 1;
    if (this.#trailerBytes <= MAX_TRAILER_BYTES) return true;
    return this.#refuse(`its trailers are over the limit, expected at most ${MAX_TRAILER_BYTES} bytes`);
  }

  #expect(byte: number, wanted: number): boolean {
    if (byte === wanted) return true;
    return this.#refuse(
      `a chunk is not framed by CR LF, expected ${describeByte(wanted)}, got ${describeByte(byte)}`,
    );
  }

  #refuse(message: string): false {
    this.#refusal = refusal(message);
    return false;
  }
}
