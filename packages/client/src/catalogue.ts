import { readAnswer } from './call/answer-body.ts';
import { Call } from './call/call.ts';
import { durationOf, type Settings } from './client-options.ts';
import { AnswerError } from './errors.ts';
import { camelCased, type JsonDocument, readDocument } from './protocol/json-document.ts';
import { modelPath } from './protocol/model-path.ts';
import type { Task } from './schema.ts';

/** A model as the server lists it. */
export interface ModelSummary {
  readonly name: string;
  readonly task: Task | null;
  /** `ready`, `loading`, `unavailable`, …, of the version that takes requests. */
  readonly state: string;
  readonly defaultVersion: string | null;
  readonly versions: readonly VersionSummary[];
  readonly failures: readonly { readonly version: string; readonly reason: string }[];
}

export interface VersionSummary {
  readonly version: string;
  readonly state: string;
  readonly reason: string | null;
  readonly variants: readonly { readonly name: string; readonly state: string; readonly runners: number }[];
}

export interface TensorSummary {
  readonly name: string;
  readonly datatype: string;
  /** -1 where a length is free. */
  readonly shape: readonly number[];
}

/** A model in full; members that this client does not know are there too. */
export interface ModelDetail extends ModelSummary {
  readonly digest: string | null;
  readonly batching: boolean;
  readonly inputs: readonly TensorSummary[];
  readonly outputs: readonly TensorSummary[];
  readonly labels: { readonly count: number; readonly first: readonly string[] } | null;
  readonly columns: readonly string[] | null;
  readonly limits: {
    readonly maxBodyBytes: number;
    readonly maxInputs: number;
    readonly maxRows: number;
    readonly deadlineMs: number;
    readonly maxDelayMs: number;
  } | null;
}

export interface Health {
  readonly ok: boolean;
  readonly status: string;
  readonly checks: Readonly<Record<string, readonly { readonly status: string; readonly output?: string }[]>>;
}

/** Options of requests that only read. */
export interface ReadOptions {
  readonly signal?: AbortSignal;
  /** In ms from now; the client's `timeoutMs` when left out. */
  readonly deadlineMs?: number;
}

/** The models of a server. */
export class ModelCatalogue {
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  async list(options: ReadOptions = {}): Promise<readonly ModelSummary[]> {
    const { models } = await readPath(this.#settings, { path: '/v1/models', options, isHealth: false });
    if (Array.isArray(models)) return camelCased(models) as readonly ModelSummary[];
    throw new AnswerError('Cannot read the answer: expected a member "models", got none', {
      code: 'BAD_ANSWER',
    });
  }

  /** Rejects with a NotFoundError when there is none of that name. */
  async get(model: string, options: ReadOptions = {}): Promise<ModelDetail> {
    const path = modelPath('v1', model, undefined);
    return camelCased(await readPath(this.#settings, { path, options, isHealth: false })) as ModelDetail;
  }
}

/** What a server says of itself. "Not well" is an answer here; only a server that cannot be asked is an error. */
export class HealthChecks {
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** The server itself works. */
  live(options: ReadOptions = {}): Promise<Health> {
    return this.#check('/livez', options);
  }

  /** Every required model can answer. */
  ready(options: ReadOptions = {}): Promise<Health> {
    return this.#check('/readyz', options);
  }

  /** It has been ready once. */
  started(options: ReadOptions = {}): Promise<Health> {
    return this.#check('/startupz', options);
  }

  async #check(path: string, options: ReadOptions): Promise<Health> {
    const { status, checks } = await readPath(this.#settings, { path, options, isHealth: true });
    return {
      ok: status === 'pass',
      status: typeof status === 'string' ? status : 'unknown',
      checks: (checks ?? {}) as Health['checks'],
    };
  }
}

/** Answers of health checks that are no errors. */
const UNWELL_STATUSES: readonly number[] = [503];

async function readPath(
  settings: Settings,
  {
    path,
    options,
    isHealth,
  }: { readonly path: string; readonly options: ReadOptions; readonly isHealth: boolean },
): Promise<JsonDocument> {
  const { signal, deadlineMs } = options;
  const call = new Call(settings, {
    method: 'GET',
    prepare: () => ({ path, headers: { accept: 'application/json' }, body: undefined }),
    acceptedStatuses: isHealth ? UNWELL_STATUSES : [],
    model: undefined,
    mayHedge: false,
    // Who asks for a server's health wants to know it now.
    maxRetries: isHealth ? 0 : settings.maxRetries,
    deadlineMs: deadlineMs === undefined ? settings.timeoutMs : durationOf('deadlineMs', deadlineMs),
    attemptTimeoutMs: settings.attemptTimeoutMs,
    signal,
    idempotencyKey: undefined,
  });
  try {
    return await call.exchange(async ({ response }) =>
      readDocument(await readAnswer(response, settings.maxAnswerBytes)),
    );
  } finally {
    call.close();
  }
}
