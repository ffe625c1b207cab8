import { Agent, request } from 'node:http';

/** What a client saw of one request. */
export interface Seen {
  readonly status: number;
  readonly body: string;
  /** Set when there was no answer at all. */
  readonly error: string | undefined;
  readonly connectionHeader: string | undefined;
}

/** A plain HTTP client on Node's own stack (not ours), with keep-alive. */
export class TestClient {
  readonly #agent: Agent;
  readonly #base: URL;

  constructor(base: string, connections = 16) {
    this.#base = new URL(base);
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  post(
    path: string,
    body: string | Uint8Array,
    headers: Record<string, string> = { 'content-type': 'application/json' },
  ): Promise<Seen> {
    return new Promise((resolve) => {
      const lost = (error: Error): void =>
        resolve({ status: 0, body: '', error: error.message, connectionHeader: undefined });
      const outgoing = request(
        {
          host: this.#base.hostname,
          port: this.#base.port,
          path,
          method: 'POST',
          agent: this.#agent,
          headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => chunks.push(chunk));
          answer.on('error', lost);
          answer.on('end', () =>
            resolve({
              status: answer.statusCode ?? 0,
              body: Buffer.concat(chunks).toString('utf8'),
              error: undefined,
              connectionHeader: answer.headers.connection,
            }),
          );
        },
      );
      outgoing.on('error', lost);
      outgoing.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Keeps `connections` requests in flight until told to stop; every answer is kept. */
export class SteadyLoad {
  readonly seen: Seen[] = [];
  readonly #done: Promise<void>;
  #stopping = false;

  constructor(connections: number, send: (turn: number) => Promise<Seen>) {
    let turn = 0;
    const loop = async (): Promise<void> => {
      while (!this.#stopping) {
        turn += 1;
        this.seen.push(await send(turn));
      }
    };
    this.#done = Promise.all(Array.from({ length: connections }, loop)).then(() => {});
  }

  get failures(): Seen[] {
    return this.seen.filter((one) => one.status !== 200);
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#done;
  }
}
