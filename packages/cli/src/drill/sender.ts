import { Agent, request } from 'node:http';
import { type Answer, kindOf } from './answer.ts';

/** Connections at one time: what a flood needs, and far below a usual limit of descriptors. */
const MAX_CONNECTIONS = 256;
/** What is kept of an answer, in bytes. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** Whoever gets no answer for this long has none. */
const PATIENCE_MS = 30_000;

/** A request that is sent again and again. */
export interface PreparedRequest {
  readonly path: string;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** Sends requests on kept connections, as a service behind a server would. */
export class Sender {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: MAX_CONNECTIONS });
  readonly #startedAt = performance.now();
  #base: URL;

  constructor(url: string) {
    this.#base = new URL(url);
  }

  get url(): string {
    return this.#base.href;
  }

  /** Where requests go from now on. */
  aim(url: string): void {
    this.#base = new URL(url);
  }

  /** Milliseconds since the start. */
  now(): number {
    return performance.now() - this.#startedAt;
  }

  send({ path, body, headers }: PreparedRequest): Promise<Answer> {
    const sentAt = this.now();
    return new Promise((resolve) => {
      const end = (what: Omit<Answer, 'sentAt' | 'endedAt'>): void =>
        resolve({ ...what, sentAt, endedAt: this.now() });
      const lost = (error: NodeJS.ErrnoException): void =>
        end({ kind: 'lost', status: 0, code: error.code ?? error.message });
      const outgoing = request(
        {
          host: this.#base.hostname,
          port: this.#base.port,
          path,
          method: 'POST',
          agent: this.#agent,
          timeout: PATIENCE_MS,
          headers: { 'content-type': 'application/json', ...headers, 'content-length': body.length },
        },
        (incoming) => {
          const chunks: Buffer[] = [];
          let length = 0;
          incoming.on('data', (chunk: Buffer) => {
            if (length < MAX_ANSWER_BYTES) chunks.push(chunk);
            length += chunk.length;
          });
          incoming.on('error', lost);
          incoming.on('end', () => {
            const status = incoming.statusCode ?? 0;
            end({ status, ...kindOf(status, Buffer.concat(chunks).toString('utf8')) });
          });
        },
      );
      outgoing.on('timeout', () => outgoing.destroy(new Error('no answer')));
      outgoing.on('error', lost);
      outgoing.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
