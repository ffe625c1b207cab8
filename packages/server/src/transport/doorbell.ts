import { Socket } from 'node:net';
import { FrameBuffer, type FrameKind } from './frame-buffer.ts';
import { MalformedFrame } from './frame-cursor.ts';
import { FrameReader, type FrameReaderOptions } from './frame-reader.ts';

/** Read at once at most; about what a socket holds. */
const READ_BYTES = 128 * 1024;

export interface DoorbellEvents {
  /** `body` is valid for good, or until the next large frame where those are read into the same memory. */
  onFrame(kind: FrameKind, body: Uint8Array): void;
  /** The peer sent something that is not our protocol; nothing more is read. */
  onMalformed(error: MalformedFrame): void;
  /** The peer is gone. Called once. */
  onClosed(): void;
}

/** Either end of the socket between the host and a runner: whole frames in, whole frames out. */
export class Doorbell {
  readonly #socket: Socket;
  readonly #events: DoorbellEvents;
  readonly #reader: FrameReader;
  readonly #frame = new FrameBuffer();
  #broken = false;
  #closed = false;

  /** `socket` is a descriptor, or a stream where the descriptor is not ours to open. */
  constructor(socket: number | Socket, events: DoorbellEvents, options?: FrameReaderOptions) {
    this.#events = events;
    this.#reader = new FrameReader((kind, body) => {
      if (!this.#broken) events.onFrame(kind, body);
    }, options);
    this.#socket = typeof socket === 'number' ? this.#open(socket) : socket;
    if (typeof socket !== 'number') socket.on('data', (chunk: Uint8Array) => this.#read(chunk));
    // A reset connection is how a killed peer looks; `close` follows.
    this.#socket.on('error', () => {});
    this.#socket.on('end', () => this.#close());
    this.#socket.on('close', () => this.#close());
  }

  /** Reads into one buffer again and again: a fresh one for each frame costs more than all else here (30 of 45 µs). */
  #open(fd: number): Socket {
    return new Socket({
      fd,
      readable: true,
      writable: true,
      onread: {
        buffer: new Uint8Array(READ_BYTES),
        callback: (length, buffer) => {
          this.#read(buffer.subarray(0, length));
          return true;
        },
      },
    });
  }

  /** Starts a frame to be filled and sent before the next one is started. */
  begin(kind: FrameKind): FrameBuffer {
    this.#frame.begin(kind);
    return this.#frame;
  }

  /** Sends the frame that was begun, in one write. To a peer that is gone it goes nowhere. */
  send(): void {
    const pieces = this.#frame.end();
    if (this.#closed) return;
    if (pieces.length > 1) this.#socket.cork();
    for (let index = 0; index < pieces.length; index += 1) this.#socket.write(pieces[index] as Uint8Array);
    if (pieces.length > 1) this.#socket.uncork();
    // What the kernel has not taken at once is sent from this very memory later.
    if (this.#socket.writableLength > 0) this.#frame.replace();
  }

  /** Sends a JSON message. */
  control(message: object): void {
    this.begin('control').bytes(Buffer.from(JSON.stringify(message)));
    this.send();
  }

  /** Sends what is left to send, then hangs up. */
  finish(onFlushed: () => void): void {
    this.#socket.end(onFlushed);
  }

  close(): void {
    this.#close();
  }

  #read(chunk: Uint8Array): void {
    if (this.#broken) return;
    try {
      this.#reader.push(chunk);
    } catch (error) {
      // Anything else is a bug of ours: it goes on to the process edge.
      if (!(error instanceof MalformedFrame)) throw error;
      this.#broken = true;
      this.#events.onMalformed(error);
    }
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#socket.destroy();
    this.#events.onClosed();
  }
}
