import { connect, type Socket } from 'node:net';

/** One answer as it came over the wire. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

interface Waiter {
  /** Whether it is satisfied by what has come. */
  check(): boolean;
  reject(error: Error): void;
}

const PATIENCE_MS = 8000;

/** A client that sends exactly the bytes it is told to. */
export class RawClient {
  readonly socket: Socket;
  received: Buffer = Buffer.alloc(0);
  /** Off: what comes is dropped. */
  keepsBytes = true;
  /** The server has ended its side. */
  ended = false;
  /** The connection is over, by FIN or reset. */
  closed = false;
  error: Error | undefined;
  readonly #waiters = new Set<Waiter>();

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (bytes) => {
      if (this.keepsBytes) this.received = Buffer.concat([this.received, bytes]);
      this.#wake();
    });
    socket.on('end', () => {
      this.ended = true;
      this.#wake();
    });
    socket.on('error', (error) => {
      this.error = error;
    });
    socket.on('close', () => {
      this.closed = true;
      this.#wake();
    });
  }

  static open(port: number): Promise<RawClient> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new RawClient(socket));
      });
    });
  }

  /** Strings are sent as latin1. */
  send(bytes: string | Uint8Array): void {
    this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  /** The next answer; `toHead`: it has no body whatever its Content-Length says. */
  async answer({ toHead = false } = {}): Promise<RawAnswer> {
    let answer: RawAnswer | undefined;
    await this.until(() => {
      answer = this.#takeAnswer(toHead);
      return answer !== undefined;
    });
    if (!answer) throw new Error('unreachable');
    return answer;
  }

  /** The server has hung up. */
  async end(): Promise<void> {
    await this.until(() => this.ended || this.closed);
  }

  async until(check: () => boolean): Promise<void> {
    if (check()) return;
    await new Promise<void>((resolve, reject) => {
      const waiter: Waiter = {
        check: () => {
          if (!check()) return false;
          clearTimeout(timer);
          resolve();
          return true;
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      };
      const timer = setTimeout(() => {
        this.#waiters.delete(waiter);
        reject(
          new Error(
            `nothing came; so far: ${JSON.stringify(this.received.toString('latin1').slice(0, 500))}`,
          ),
        );
      }, PATIENCE_MS);
      this.#waiters.add(waiter);
    });
  }

  destroy(): void {
    this.socket.destroy();
  }

  #wake(): void {
    for (const waiter of this.#waiters) {
      if (waiter.check()) this.#waiters.delete(waiter);
      else if (this.closed) {
        this.#waiters.delete(waiter);
        waiter.reject(new Error(`the connection closed; ${this.error?.message ?? 'no error'}`));
      }
    }
  }

  #takeAnswer(toHead: boolean): RawAnswer | undefined {
    const headEnd = this.received.indexOf('\r\n\r\n');
    if (headEnd < 0) return undefined;
    const [statusLine = '', ...lines] = this.received.toString('latin1', 0, headEnd).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) [\w -]+$/.exec(statusLine)?.[1]);
    if (Number.isNaN(status)) throw new Error(`bad status line ${JSON.stringify(statusLine)}`);
    const headers = new Map<string, string>();
    for (const line of lines) {
      const colon = line.indexOf(': ');
      const name = line.slice(0, colon).toLowerCase();
      if (headers.has(name)) throw new Error(`header ${name} came twice`);
      headers.set(name, line.slice(colon + 2));
    }
    const bodyless = toHead || status < 200 || status === 204 || status === 304;
    const length = bodyless ? 0 : Number(headers.get('content-length'));
    const bodyStart = headEnd + 4;
    if (this.received.length < bodyStart + length) return undefined;
    const body = this.received.subarray(bodyStart, bodyStart + length);
    this.received = this.received.subarray(bodyStart + length);
    return { status, headers, body };
  }
}
