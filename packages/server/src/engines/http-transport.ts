import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Attempt } from './channel.ts';
import type { Credentials } from './credentials.ts';
import { PeerFailure } from './peer-failure.ts';
import type { Timers } from './timers.ts';

/** Bytes of an answer's head; servers of models send little. */
const MAX_HEAD_BYTES = 64 * 1024;
/** Connections beyond those that batches use: probes and descriptions. */
const SPARE_SOCKETS = 2;

export interface HttpTransportOptions {
  /** Base address: `https://triton:8000`, with a path before the API's own where there is one. */
  readonly address: string;
  /** Batches at once. */
  readonly maxConnections: number;
  readonly connectTimeoutMs: number;
  readonly maxResponseBytes: number;
  readonly credentials: Credentials;
  readonly timers: Timers;
}

export interface HttpCall {
  readonly method: 'GET' | 'POST';
  /** Begins with a slash. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: readonly Uint8Array[];
}

export interface HttpAnswer {
  readonly status: number;
  readonly header: (name: string) => string | undefined;
  readonly body: Buffer;
}

/** Keep-alive connections to one address, bounded in number; answers bounded in size. */
export class HttpTransport {
  readonly #options: HttpTransportOptions;
  readonly #agent: HttpAgent;
  readonly #base: URL;
  readonly #prefix: string;

  constructor(options: HttpTransportOptions) {
    this.#options = options;
    this.#base = new URL(options.address);
    this.#prefix = this.#base.pathname.replace(/\/+$/, '');
    const maxSockets = options.maxConnections + SPARE_SOCKETS;
    const pool = { keepAlive: true, maxSockets, maxFreeSockets: maxSockets, scheduling: 'lifo' } as const;
    const { tls } = options.credentials;
    this.#agent =
      this.#base.protocol === 'https:' ? new HttpsAgent({ ...pool, ...tls }) : new HttpAgent(pool);
  }

  get address(): string {
    return this.#options.address;
  }

  /** Any status is an answer; what is none rejects with a `PeerFailure`. */
  async call(call: HttpCall, attempt: Attempt): Promise<HttpAnswer> {
    try {
      return await this.#once(call, attempt);
    } catch (error) {
      // The server closed a kept connection just as it was used again: nobody's fault, and nothing was run.
      if (!(error instanceof StaleConnection) || attempt.signal.aborted) throw error;
      return await this.#once(call, attempt);
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  #once(call: HttpCall, { signal }: Attempt): Promise<HttpAnswer> {
    const { credentials, connectTimeoutMs, timers } = this.#options;
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(aborted());
        return;
      }
      const byteLength = call.body.reduce((sum, chunk) => sum + chunk.length, 0);
      const send = this.#base.protocol === 'https:' ? httpsRequest : httpRequest;
      const request = send({
        agent: this.#agent,
        hostname: this.#base.hostname.replace(/^\[|\]$/g, ''),
        port: this.#base.port === '' ? undefined : Number(this.#base.port),
        method: call.method,
        path: `${this.#prefix}${call.path}`,
        maxHeaderSize: MAX_HEAD_BYTES,
        headers: {
          ...credentials.headers,
          ...call.headers,
          ...(call.method === 'POST' ? { 'content-length': byteLength } : {}),
        },
      });
      let connected = false;
      let answering = false;
      let settled = false;
      const cancelConnect = timers.after(connectTimeoutMs, () => {
        if (!connected)
          request.destroy(new PeerFailure('unreachable', 'the remote engine can not be reached in time'));
      });
      const onAbort = (): void => {
        request.destroy(aborted());
      };
      const settle = (end: () => void): void => {
        if (settled) return;
        settled = true;
        cancelConnect();
        signal.removeEventListener('abort', onAbort);
        end();
      };
      const fail = (error: unknown): void =>
        settle(() => reject(signal.aborted ? aborted() : failureOf(error, { request, connected })));
      signal.addEventListener('abort', onAbort);
      request.on('socket', (socket) => {
        const onConnected = (): void => {
          connected = true;
          cancelConnect();
        };
        if (request.reusedSocket || !socket.connecting) onConnected();
        else socket.once(this.#base.protocol === 'https:' ? 'secureConnect' : 'connect', onConnected);
      });
      request.on('error', fail);
      // Without this, a connection that is closed before any answer would be told by nobody.
      request.on('close', () => {
        if (!answering) fail(new Error('closed'));
      });
      request.on('response', (response) => {
        answering = true;
        this.#read(response).then(
          (answer) => settle(() => resolve(answer)),
          (error: unknown) => {
            fail(error);
            request.destroy();
          },
        );
      });
      for (const chunk of call.body) request.write(chunk);
      request.end();
    });
  }

  #read(response: IncomingMessage): Promise<HttpAnswer> {
    const { maxResponseBytes } = this.#options;
    const tooLarge = (): PeerFailure =>
      new PeerFailure(
        'garbage',
        `the remote engine's answer is too large, expected at most ${maxResponseBytes} bytes`,
      );
    return new Promise((resolve, reject) => {
      if (Number(response.headers['content-length'] ?? 0) > maxResponseBytes) {
        reject(tooLarge());
        return;
      }
      const encoding = response.headers['content-encoding'];
      if (encoding !== undefined && encoding !== 'identity') {
        reject(new PeerFailure('garbage', 'the remote engine compresses its answer, which nobody asked for'));
        return;
      }
      const chunks: Buffer[] = [];
      let byteLength = 0;
      response.on('data', (chunk: Buffer) => {
        byteLength += chunk.length;
        if (byteLength > maxResponseBytes) reject(tooLarge());
        else chunks.push(chunk);
      });
      response.on('end', () => {
        if (!response.complete) {
          reject(cutOff());
          return;
        }
        const header = (name: string): string | undefined => {
          const value = response.headers[name];
          return Array.isArray(value) ? value[0] : value;
        };
        resolve({ status: response.statusCode ?? 0, header, body: Buffer.concat(chunks, byteLength) });
      });
      response.on('error', () => reject(cutOff()));
      response.on('close', () => reject(cutOff()));
    });
  }
}

class StaleConnection extends PeerFailure {}

function aborted(): PeerFailure {
  return new PeerFailure('aborted', 'the call was called off');
}

function cutOff(): PeerFailure {
  return new PeerFailure('broken', 'the remote engine ended the connection inside its answer');
}

function failureOf(
  error: unknown,
  { request, connected }: { request: ClientRequest; connected: boolean },
): PeerFailure {
  if (error instanceof PeerFailure) return error;
  const code = String((error as NodeJS.ErrnoException).code ?? '');
  if (code.startsWith('HPE_')) {
    return new PeerFailure('garbage', 'the remote engine does not answer in HTTP', { cause: error });
  }
  if (request.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE')) {
    return new StaleConnection('broken', 'the remote engine ended the connection before it answered', {
      cause: error,
    });
  }
  if (connected) {
    return new PeerFailure('broken', 'the remote engine ended the connection before it answered', {
      cause: error,
    });
  }
  const why = isTlsCode(code)
    ? `its certificate is not trusted (${code})`
    : code === ''
      ? 'no connection'
      : code;
  return new PeerFailure('unreachable', `the remote engine can not be reached: ${why}`, { cause: error });
}

/** Codes of OpenSSL and of Node's own check of names. */
function isTlsCode(code: string): boolean {
  return /CERT|SELF_SIGNED|ERR_TLS|ERR_SSL|UNABLE_TO/.test(code);
}
