import type { RemoteSpec } from '@gimbal/core';
import type { Attempt, RemoteAnswer, RemoteChannel, RemoteDescription, RemoteRequest } from '../channel.ts';
import { readDescription } from '../description.ts';
import type { HttpAnswer, HttpTransport } from '../http-transport.ts';
import { failureOfStatus, PeerFailure } from '../peer-failure.ts';
import { readRestAnswer } from './rest-answer.ts';
import { restRequest } from './rest-request.ts';

const LENGTH_HEADER = 'inference-header-content-length';
const BINARY_EXTENSION = 'binary_tensor_data';
const MS_IN_S = 1000;

/** One endpoint of the Open Inference Protocol V2 over HTTP. */
export class RestChannel implements RemoteChannel {
  readonly #transport: HttpTransport;
  readonly #modelPath: string;
  readonly #encoding: RemoteSpec['encoding'];
  /** What the server's list of extensions says, once it was asked. */
  #readsBinary = false;

  constructor(transport: HttpTransport, { model, version, encoding }: RemoteSpec) {
    this.#transport = transport;
    const versionPath = version === undefined ? '' : `/versions/${encodeURIComponent(version)}`;
    this.#modelPath = `/v2/models/${encodeURIComponent(model)}${versionPath}`;
    this.#encoding = encoding;
  }

  async describe(attempt: Attempt): Promise<RemoteDescription> {
    if (this.#encoding === 'auto') {
      // A server without this document has no extensions either.
      const server = await this.#get('/v2', attempt);
      this.#readsBinary = server.status === 200 && extensionsOf(server.body).includes(BINARY_EXTENSION);
    }
    const answer = await this.#get(this.#modelPath, attempt);
    if (answer.status !== 200) throw failureOf(answer);
    return readDescription(parsed(answer.body));
  }

  async probe(attempt: Attempt): Promise<void> {
    const server = await this.#get('/v2/health/ready', attempt);
    if (server.status !== 200) throw notReady('server', server.status);
    const model = await this.#get(`${this.#modelPath}/ready`, attempt);
    if (model.status !== 200) throw notReady('model', model.status);
    // KServe says it in the body, with the status 200.
    const { ready } = (tryParsed(model.body) ?? {}) as { ready?: unknown };
    if (ready === false) throw notReady('model', model.status);
  }

  async run(request: RemoteRequest, attempt: Attempt): Promise<RemoteAnswer> {
    const { timeoutMs } = attempt;
    const binary = this.#encoding === 'auto' ? this.#readsBinary : this.#encoding === 'binary';
    const { jsonBytes, body } = restRequest(request, { binary, timeoutMs });
    const answer = await this.#transport.call(
      {
        method: 'POST',
        path: `${this.#modelPath}/infer`,
        headers: {
          'content-type': binary ? 'application/octet-stream' : 'application/json',
          'inference-timeout-ms': Math.max(1, Math.floor(timeoutMs)),
          ...(jsonBytes === undefined ? {} : { [LENGTH_HEADER]: jsonBytes }),
        },
        body,
      },
      attempt,
    );
    if (answer.status !== 200) throw failureOf(answer);
    const length = answer.header(LENGTH_HEADER);
    return readRestAnswer(answer.body, length === undefined ? undefined : Number(length));
  }

  close(): void {
    this.#transport.close();
  }

  #get(path: string, attempt: Attempt): Promise<HttpAnswer> {
    return this.#transport.call({ method: 'GET', path, headers: {}, body: [] }, attempt);
  }
}

function notReady(what: string, status: number): PeerFailure {
  return new PeerFailure('refused', `the remote ${what} is not ready, status ${status}`);
}

function extensionsOf(body: Buffer): readonly unknown[] {
  const { extensions } = (tryParsed(body) ?? {}) as { extensions?: unknown };
  return Array.isArray(extensions) ? extensions : [];
}

/** An answer that is no success, in the server's own words where it has some. */
export function failureOf({ status, body, header }: HttpAnswer): PeerFailure {
  const { error } = (tryParsed(body) ?? {}) as { error?: unknown };
  const said = typeof error === 'string' ? error : messageOf(error);
  const seconds = Number(header('retry-after') ?? Number.NaN);
  return failureOfStatus(status, said, Number.isFinite(seconds) ? seconds * MS_IN_S : undefined);
}

/** OpenAI-like servers have an object with a message. */
function messageOf(error: unknown): string {
  const { message } = (error ?? {}) as { message?: unknown };
  return typeof message === 'string' ? message : '';
}

export function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch (error) {
    throw new PeerFailure('garbage', 'the remote engine answers with something that is no JSON', {
      cause: error,
    });
  }
}

function tryParsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}
