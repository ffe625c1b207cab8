import { nearestName } from '@gimbal/core';
import { EXIT, type ExitCode } from './exit-code.ts';
import { exitCodeOf, Failure } from './failure.ts';

/** Largest answer that a verb reads. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;
const USUAL_URL = 'http://127.0.0.1:8000';

export interface ServerAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON, undefined for an empty answer. */
  readonly body: unknown;
}

export interface ServerRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer> | string | FormData;
}

/** The address of the server to talk to: flag, environment, default. */
export function serverUrl(
  flag: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): string {
  const written = flag ?? (environment.GIMBAL_URL || USUAL_URL);
  const withScheme = /^https?:\/\//.test(written) ? written : `http://${written}`;
  if (!URL.canParse(withScheme)) {
    throw new Failure(EXIT.usage, 'Cannot use the address of the server: it is no URL', {
      where: flag === undefined ? 'GIMBAL_URL' : '--url',
      expected: 'a URL such as http://127.0.0.1:8000',
      got: JSON.stringify(written),
    });
  }
  return withScheme.replace(/\/+$/, '');
}

/** HTTP to a Gimbal server, with its errors as failures of the command. */
export class ServerClient {
  readonly url: string;
  readonly #timeoutMs: number;

  constructor(url: string, timeoutMs: number) {
    this.url = url;
    this.#timeoutMs = timeoutMs;
  }

  /** The answer of a request that succeeded. Fails with exit code 4 to 8 or 1, as the server's error says. */
  async request(request: ServerRequest): Promise<ServerAnswer> {
    const response = await this.#send(request);
    const text = await this.#read(response);
    const body = parseJson(text);
    if (!response.ok) throw refusal(response.status, { body, text, url: this.url + request.path });
    return { status: response.status, headers: response.headers, body };
  }

  /** As `request`, for something of one model: an unknown name is told with the nearest known one. */
  async requestOfModel(model: string, request: ServerRequest): Promise<ServerAnswer> {
    try {
      return await this.request(request);
    } catch (error) {
      if (error instanceof Failure && error.exitCode === EXIT.notFound)
        throw await this.#withNames(error, model);
      throw error;
    }
  }

  async modelNames(): Promise<string[]> {
    const { body } = await this.request({ method: 'GET', path: '/v1/models' });
    return modelsOf(body).map(({ name }) => name);
  }

  async #withNames(failure: Failure, model: string): Promise<Failure> {
    const names = await this.modelNames().catch((): string[] => []);
    const isTold = failure.message.includes('did you mean');
    if (isTold || names.length === 0 || names.includes(model)) return failure;
    const near = nearestName(model, names);
    const fix =
      near === undefined ? `use one of ${names.join(', ')}` : `did you mean ${JSON.stringify(near)}?`;
    return new Failure(failure.exitCode, failure.message, { ...failure.details, fix });
  }

  async #send({ method, path, headers, body }: ServerRequest): Promise<Response> {
    const url = this.url + path;
    try {
      return await fetch(url, {
        method,
        headers: { accept: 'application/json', ...headers },
        signal: AbortSignal.timeout(this.#timeoutMs),
        ...(body === undefined ? {} : { body }),
      });
    } catch (error) {
      throw this.#transportFailure(error, url);
    }
  }

  async #read(response: Response): Promise<string> {
    const announced = Number(response.headers.get('content-length') ?? 0);
    if (announced > MAX_ANSWER_BYTES) {
      throw new Failure(EXIT.failure, 'Cannot read the answer: it is too large', {
        where: this.url,
        expected: `at most ${MAX_ANSWER_BYTES} bytes`,
        got: `${announced} bytes`,
      });
    }
    try {
      return await response.text();
    } catch (error) {
      throw this.#transportFailure(error, this.url);
    }
  }

  #transportFailure(error: unknown, url: string): Failure {
    if (error instanceof DOMException && error.name === 'TimeoutError') {
      return new Failure(EXIT.timeout, 'Cannot get an answer: the server took too long', {
        where: url,
        expected: `an answer within ${this.#timeoutMs} ms`,
        fix: 'use a longer --timeout, or look at the server',
      });
    }
    const cause = (error as { cause?: { code?: string; message?: string } }).cause;
    return new Failure(EXIT.unreachable, 'Cannot reach the server', {
      where: url,
      expected: 'a running Gimbal server',
      got: cause?.code ?? cause?.message ?? String(error),
      fix: 'gimbal serve, or give its address with --url',
    });
  }
}

export interface ListedModel {
  readonly name: string;
  readonly [member: string]: unknown;
}

/** The models of `GET /v1/models`, by `name`. */
export function modelsOf(body: unknown): ListedModel[] {
  const list = (body as { models?: unknown })?.models;
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry) => {
    const name = typeof entry === 'string' ? entry : (entry?.name ?? entry?.model);
    return typeof name === 'string' ? [{ ...(typeof entry === 'object' ? entry : {}), name }] : [];
  });
}

interface ErrorDocument {
  readonly code?: string;
  readonly title?: string;
  readonly detail?: string;
  readonly error?: string;
  readonly request_id?: string;
  readonly retry_after_ms?: number;
  readonly errors?: readonly { pointer?: string; expected?: string; received?: string; hint?: string }[];
}

/** RFC 9457 documents and V2's `{"error": …}` alike. */
function refusal(status: number, answer: { body: unknown; text: string; url: string }): Failure {
  const document = (
    typeof answer.body === 'object' && answer.body !== null ? answer.body : {}
  ) as ErrorDocument;
  const message = document.detail ?? document.error ?? document.title ?? `The server answered ${status}`;
  const findings = (document.errors ?? []).map(({ pointer, expected, received, hint }) => {
    const suffix = hint === undefined ? '' : `; ${hint}`;
    return `${pointer ?? ''}: expected ${expected ?? '?'}, got ${received ?? '?'}${suffix}`;
  });
  const wait = document.retry_after_ms;
  return new Failure(exitCodeOfAnswer(status, document.code), message, {
    where: document.request_id === undefined ? answer.url : `${answer.url} (request ${document.request_id})`,
    findings,
    ...(document.code === undefined
      ? { got: `status ${status}` }
      : { got: `${document.code} (status ${status})` }),
    ...(wait === undefined ? {} : { fix: `try again in ${Math.ceil(wait / 1000)} s` }),
  });
}

function exitCodeOfAnswer(status: number, code: string | undefined): ExitCode {
  const known = code === undefined ? EXIT.failure : exitCodeOf(code);
  if (known !== EXIT.failure && known !== EXIT.invalid) return known;
  if (status === 404) return EXIT.notFound;
  if (status === 409) return EXIT.conflict;
  if (status === 401 || status === 403) return EXIT.denied;
  if (status === 408 || status === 504) return EXIT.timeout;
  return EXIT.failure;
}

function parseJson(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
