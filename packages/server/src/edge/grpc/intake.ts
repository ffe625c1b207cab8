import { constants, type ServerHttp2Stream } from 'node:http2';
import { GimbalError } from '@gimbal/core';

/** Before each message: one byte that says whether it is compressed, and its length. */
const HEAD_BYTES = 5;

const RETRY_MS = 1_000;

export interface IntakeLimits {
  /** Of one message, as it is on the wire. */
  readonly maxMessageBytes: number;
  /** Of all messages that are arriving or waiting to be read. */
  readonly maxCollectedBytes: number;
}

/**
 * Watches messages arrive below the gRPC library, which collects them whole: from the head of a message on it is known
 * whether there is room for it. It also leads from a call in the library to its HTTP/2 stream.
 */
export class Intake {
  readonly #limits: IntakeLimits;
  #collectedBytes = 0;
  #latest: Arrival | undefined;

  constructor(limits: IntakeLimits) {
    this.#limits = limits;
  }

  get collectedBytes(): number {
    return this.#collectedBytes;
  }

  /** A stream has come, and the library is about to make a call of it. */
  readonly arrive = (stream: ServerHttp2Stream): void => {
    const arrival = new Arrival(stream, {
      reserve: (byteLength) => this.#reserve(byteLength),
      free: (byteLength) => {
        this.#collectedBytes -= byteLength;
      },
    });
    this.#latest = arrival;
  };

  /** The stream of the call that the library is making right now: it does so while `arrive`'s event is told. */
  take(): Arrival | undefined {
    const arrival = this.#latest;
    this.#latest = undefined;
    return arrival;
  }

  #reserve(byteLength: number): void {
    const { maxMessageBytes, maxCollectedBytes } = this.#limits;
    if (byteLength > maxMessageBytes) {
      throw new GimbalError(
        'INPUT_TOO_LARGE',
        `Cannot read the message: expected at most ${maxMessageBytes} bytes, got ${byteLength}`,
      );
    }
    if (this.#collectedBytes + byteLength > maxCollectedBytes) {
      throw new GimbalError(
        'OVERLOADED',
        `Cannot read the message: the memory for arriving messages is full, expected room for ${byteLength} bytes`,
        { retryAfterMs: RETRY_MS },
      );
    }
    this.#collectedBytes += byteLength;
  }
}

interface Room {
  /** Throws INPUT_TOO_LARGE or OVERLOADED. */
  reserve(byteLength: number): void;
  free(byteLength: number): void;
}

/** The messages of one stream. */
export class Arrival {
  readonly #stream: ServerHttp2Stream;
  readonly #room: Room;
  /** Lengths of the messages that have room, oldest first; the library reads few ahead. */
  readonly #held: number[] = [];
  readonly #head = Buffer.alloc(HEAD_BYTES);
  #headLength = 0;
  #missing = 0;
  #refuse: ((error: GimbalError) => void) | undefined;

  constructor(stream: ServerHttp2Stream, room: Room) {
    this.#stream = stream;
    this.#room = room;
    stream.on('data', (chunk: Buffer) => this.#look(chunk));
    stream.once('close', () => this.#end());
  }

  /** From now on messages are looked at; one that has no room ends the call. */
  start(refuse: (error: GimbalError) => void): void {
    this.#refuse = refuse;
  }

  /** The oldest message has been given to whoever reads it. */
  handedOver(): void {
    const byteLength = this.#held.shift();
    if (byteLength !== undefined) this.#room.free(byteLength);
  }

  #look(chunk: Buffer): void {
    let at = 0;
    while (this.#refuse !== undefined && at < chunk.length) {
      if (this.#missing > 0) {
        const taken = Math.min(this.#missing, chunk.length - at);
        this.#missing -= taken;
        at += taken;
        continue;
      }
      const copied = chunk.copy(this.#head, this.#headLength, at, at + HEAD_BYTES - this.#headLength);
      this.#headLength += copied;
      at += copied;
      if (this.#headLength === HEAD_BYTES) this.#begin(this.#head.readUInt32BE(1));
    }
  }

  #begin(byteLength: number): void {
    this.#headLength = 0;
    this.#missing = byteLength;
    try {
      this.#room.reserve(byteLength);
      this.#held.push(byteLength);
    } catch (error) {
      this.#end();
      this.#turnAway(error as GimbalError);
    }
  }

  #turnAway(error: GimbalError): void {
    const refuse = this.#refuse;
    const isWhole = !this.#stream.headersSent;
    this.#refuse = undefined;
    refuse?.(error);
    // The answer is complete: the client is spared the rest of its upload.
    if (isWhole && !this.#stream.destroyed) this.#stream.close(constants.NGHTTP2_NO_ERROR);
  }

  #end(): void {
    while (this.#held.length > 0) this.handedOver();
  }
}
