import type { Socket } from 'node:net';

/** Bytes that may wait for a client before pieces count as taken no more: about what a socket holds. */
const MAX_UNSENT_BYTES = 64 * 1024;
/** Smaller pieces are copied behind their head: one small copy costs less than further buffers in the write. */
const MAX_JOINED_BYTES = 16 * 1024;

const LAST_CHUNK = '0\r\n\r\n';
const LINE_END = Buffer.from('\r\n');

/** An answer that is sent piece by piece. Nothing is sent after its end, nor to a client that is gone. */
export interface AnswerStream {
  /**
   * Sends a piece of the body. `onTaken` is called exactly once: at once while little waits for the client, else when
   * the kernel has taken the piece, or when the client is gone. Until then the bytes must stay as they are.
   */
  write(bytes: Uint8Array, onTaken?: () => void): void;
  /** The body is complete. */
  end(): void;
}

/** Of a client that has gone already. */
export const GONE_STREAM: AnswerStream = {
  write: (_bytes, onTaken) => onTaken?.(),
  end: () => {},
};

export interface StreamPort {
  /** So many bytes were given to the socket. */
  written(byteLength: number): void;
  ended(): void;
}

/** Writes a body of unknown length: in chunks, or, for HTTP/1.0, up to the end of the connection. */
export class SocketStream implements AnswerStream {
  readonly #socket: Socket;
  readonly #isChunked: boolean;
  readonly #port: StreamPort;
  #isOver = false;

  constructor(socket: Socket, isChunked: boolean, port: StreamPort) {
    this.#socket = socket;
    this.#isChunked = isChunked;
    this.#port = port;
  }

  write(bytes: Uint8Array, onTaken?: () => void): void {
    if (this.#isOver || bytes.length === 0) {
      onTaken?.();
      return;
    }
    const head = this.#isChunked ? `${bytes.length.toString(16)}\r\n` : '';
    const tail = this.#isChunked ? LINE_END : LINE_END.subarray(0, 0);
    this.#port.written(head.length + bytes.length + tail.length);
    const room = this.#socket.writableLength + bytes.length <= MAX_UNSENT_BYTES;
    const isJoined = bytes.length <= MAX_JOINED_BYTES;
    const onWritten = room && isJoined ? undefined : onTaken;
    if (isJoined) this.#socket.write(Buffer.concat([Buffer.from(head), bytes, tail]), () => onWritten?.());
    else this.#writeParts([Buffer.from(head), bytes, tail], onWritten);
    if (onWritten === undefined) onTaken?.();
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#isChunked) {
      this.#socket.write(LAST_CHUNK, 'latin1');
      this.#port.written(LAST_CHUNK.length);
    }
    this.#port.ended();
  }

  /** The client has gone. */
  abandon(): void {
    this.#isOver = true;
  }

  #writeParts(parts: readonly Uint8Array[], onWritten: (() => void) | undefined): void {
    const filled = parts.filter((part) => part.length > 0);
    this.#socket.cork();
    for (const part of filled.slice(0, -1)) this.#socket.write(part);
    this.#socket.write(filled.at(-1) ?? LINE_END, () => onWritten?.());
    this.#socket.uncork();
  }
}
