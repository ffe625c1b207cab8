import { createServer, type Server, type Socket } from 'node:net';

/** Connections that the kernel keeps while we are busy, or while the gate is shut. */
const BACKLOG = 511;

/** Keeps a listening socket open under another descriptor; undefined where that can't be done. */
export type DuplicateDescriptor = (descriptor: number) => number | undefined;

export interface AcceptGateOptions {
  readonly onConnection: (socket: Socket) => void;
  readonly onError: (error: NodeJS.ErrnoException) => void;
  /** Without it the gate can't be shut. */
  readonly duplicate?: DuplicateDescriptor | undefined;
}

/**
 * A listening socket that can stop accepting without being closed: new connections then wait in the kernel, at no cost
 * to us, and are taken when there is room. Accepting each of them only to say "too many" costs more than an answer.
 * Node can't pause a listener, so its handle is closed while a duplicate of the descriptor keeps the socket listening.
 */
export class AcceptGate {
  readonly #options: AcceptGateOptions;
  #server: Server;
  /** Of the socket that nobody accepts from, while shut. */
  #kept: number | undefined;
  #closed = false;

  constructor(options: AcceptGateOptions) {
    this.#options = options;
    this.#server = this.#create();
  }

  get shut(): boolean {
    return this.#kept !== undefined;
  }

  listen({ host, port }: { host: string; port: number }): Promise<{ port: number }> {
    return new Promise((resolve, reject) => {
      const server = this.#server;
      server.once('error', reject);
      server.listen({ host, port, backlog: BACKLOG }, () => {
        server.off('error', reject);
        server.on('error', this.#options.onError);
        const address = server.address();
        resolve({ port: typeof address === 'object' && address ? address.port : port });
      });
    });
  }

  /** Accepts nothing more until it is opened. */
  shutNow(): void {
    if (this.#closed || this.shut || !this.#server.listening) return;
    const descriptor = (this.#server as unknown as { _handle?: { fd?: number } })._handle?.fd ?? -1;
    const kept = descriptor >= 0 ? this.#options.duplicate?.(descriptor) : undefined;
    if (kept === undefined) return;
    this.#kept = kept;
    this.#server.close();
  }

  open(): void {
    if (this.#closed || this.#kept === undefined) return;
    const descriptor = this.#kept;
    this.#kept = undefined;
    this.#server = this.#create();
    this.#server.on('error', this.#options.onError);
    this.#server.listen({ fd: descriptor, backlog: BACKLOG });
  }

  close(): void {
    if (this.#closed) return;
    this.open();
    this.#closed = true;
    this.#server.close();
  }

  #create(): Server {
    const { onConnection } = this.#options;
    return createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, onConnection);
  }
}
