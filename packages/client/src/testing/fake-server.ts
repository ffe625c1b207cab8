import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** From 1, in the order of arrival. */
  readonly number: number;
  readonly socket: Socket;
}

/** Answers a request, in whatever way a bad server would. */
export type Answer = (response: ServerResponse, request: SeenRequest) => void;

/** A server over real sockets that does what a test wants, and remembers what it was asked. */
export class FakeServer {
  readonly seen: SeenRequest[] = [];
  readonly #server: Server;
  #onSeen: (() => void)[] = [];

  constructor(answer: Answer) {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('error', () => {});
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method = '', url = '', headers, socket } = request;
        const number = this.seen.length + 1;
        const seen = { method, path: url, headers, body: Buffer.concat(chunks), number, socket };
        this.seen.push(seen);
        for (const wake of this.#onSeen.splice(0)) wake();
        answer(response, seen);
      });
    });
  }

  static async start(answer: Answer): Promise<FakeServer> {
    const server = new FakeServer(answer);
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get last(): SeenRequest {
    const last = this.seen.at(-1);
    if (last === undefined) throw new Error('the server was asked nothing');
    return last;
  }

  /** Resolves when so many requests have arrived. */
  async sees(count: number): Promise<void> {
    while (this.seen.length < count) await new Promise<void>((resolve) => this.#onSeen.push(resolve));
  }

  stop(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}

export function sendJson(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** A native answer of a classifier. */
export function aPrediction(change: object = {}): object {
  return {
    model: 'cats',
    version: '1',
    variant: 'fp32',
    degraded: false,
    predictions: [{ class_id: 3, label: 'tabby', confidence: 0.9 }],
    request_id: 'r-1',
    timings_ms: { queue: 0.5, batch: 1, preprocess: 2, infer: 3, postprocess: 0.1, total: 6.6 },
    ...change,
  };
}

/** A problem document of the server. */
export function aProblem(code: string, change: object = {}): object {
  return { type: `/docs/errors#${code}`, title: code, detail: `Cannot do it: ${code}`, code, ...change };
}
