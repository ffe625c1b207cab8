import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface FakeAnswer {
  readonly status?: number;
  readonly body: unknown;
  /** The connection is left open without an answer. */
  readonly never?: boolean;
}

/** Answers by method and path like a Gimbal server, and remembers what it was asked. */
export class FakeServer {
  readonly seen: SeenRequest[] = [];
  readonly #answers: Readonly<Record<string, FakeAnswer>>;
  readonly #server: Server;

  constructor(answers: Readonly<Record<string, FakeAnswer>>) {
    this.#answers = answers;
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method = '', url = '', headers } = request;
        this.seen.push({ method, path: url, headers, body: Buffer.concat(chunks) });
        const answer = this.#answers[`${method} ${url}`] ?? {
          status: 404,
          body: { code: 'ROUTE_NOT_FOUND' },
        };
        if (answer.never) return;
        response.writeHead(answer.status ?? 200, { 'content-type': 'application/json' });
        response.end(answer.body === undefined ? '' : JSON.stringify(answer.body));
      });
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get last(): SeenRequest {
    const last = this.seen.at(-1);
    if (last === undefined) throw new Error('the server was asked nothing');
    return last;
  }

  start(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  stop(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}
