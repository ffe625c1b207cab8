import { readAnswer } from './call/answer-body.ts';
import { Call } from './call/call.ts';
import type { CallRequest, OpenAnswer, SentRequest } from './call/call-request.ts';
import { durationOf, type Settings } from './client-options.ts';
import { type GimbalError, ValidationError } from './errors.ts';
import { tell } from './hooks.ts';
import { type InferOptions, optionHeaders } from './infer-options.ts';
import { type InferPromise, inferPromise, type WithResponse } from './infer-promise.ts';
import { headOfHeaders } from './protocol/answer-head.ts';
import { modelPath } from './protocol/model-path.ts';
import { readNativeAnswer, readNativeList } from './protocol/native-answer.ts';
import { type NativeRequest, nativeListRequest, nativeRequest } from './protocol/native-request.ts';
import { readV2Answer } from './protocol/v2-answer.ts';
import { v2Request } from './protocol/v2-request.ts';
import type {
  AnswerHead,
  ModelType,
  NativeAnswer,
  NativeInput,
  NativeResult,
  TensorAnswer,
  TensorInput,
} from './schema.ts';
import { STREAM_TYPES, streamAnswer } from './stream/answer-stream.ts';
import { isTensor, type Tensor } from './tensor/tensor.ts';

/** What came of one input among several. */
export type ItemResult<Model extends ModelType> =
  | ({ readonly ok: true } & NativeResult<Model>)
  | { readonly ok: false; readonly error: GimbalError };

export type ListAnswer<Model extends ModelType> = AnswerHead & {
  readonly results: readonly ItemResult<Model>[];
};

/** Options of a call with tensors. */
export type TensorOptions<Model extends ModelType> = InferOptions & {
  /** Only these outputs are sent back; all when left out. */
  readonly outputs?: readonly (keyof Model['outputs'] & string)[];
};

type Reader<T> = (body: Uint8Array<ArrayBuffer>, answer: OpenAnswer) => T;

/** One model of a server. Holds no connection and no state: making one costs nothing. */
export class ModelClient<Model extends ModelType = ModelType> {
  readonly name: string;
  readonly #settings: Settings;

  constructor(settings: Settings, name: string) {
    this.#settings = settings;
    this.name = name;
  }

  /**
   * Runs one input. Tensors go in binary over the Open Inference Protocol and come back as tensors; pictures, texts and
   * rows go over the native API. Rejects with a GimbalError.
   */
  infer(input: TensorInput<Model>, options?: TensorOptions<Model>): InferPromise<TensorAnswer<Model>>;
  infer(input: NativeInput<Model>, options?: InferOptions): InferPromise<NativeAnswer<Model>>;
  infer(
    input: TensorInput<Model> | NativeInput<Model>,
    options: TensorOptions<Model> = {},
  ): InferPromise<TensorAnswer<Model> | NativeAnswer<Model>> {
    return inferPromise(this.#infer(input, options)) as InferPromise<
      TensorAnswer<Model> | NativeAnswer<Model>
    >;
  }

  /** Runs several inputs in one request. Each result stands alone: one bad input never fails its neighbours. */
  inferMany(
    inputs: readonly NativeInput<Model>[],
    options: InferOptions = {},
  ): InferPromise<ListAnswer<Model>> {
    const answer = this.#exchange(
      options,
      async (signal) => this.#nativeSent(await nativeListRequest(inputs, planOf(options, signal)), options),
      readNativeList,
    );
    return inferPromise(answer) as unknown as InferPromise<ListAnswer<Model>>;
  }

  /**
   * The messages of a model that streams, as they come. Without a `deadlineMs` a stream may take any time, but must not
   * be silent for longer than the client's `timeoutMs`. Throws a GimbalError out of the iteration.
   */
  async *stream<Chunk = Readonly<Record<string, unknown>>>(
    input: NativeInput<Model>,
    options: InferOptions = {},
  ): AsyncGenerator<Chunk, void, undefined> {
    const { timeoutMs } = this.#settings;
    const request: CallRequest = {
      ...this.#requestOf(options, async (signal) => {
        const sent = this.#nativeSent(await nativeRequest(input, planOf(options, signal)), options);
        return { ...sent, headers: { ...sent.headers, accept: STREAM_TYPES } };
      }),
      // A second stream would cost as much again, whichever is read.
      mayHedge: false,
      deadlineMs: options.deadlineMs,
      attemptTimeoutMs: Math.min(this.#settings.attemptTimeoutMs, timeoutMs),
    };
    const chunks = streamAnswer({ settings: this.#settings, request, idleMs: timeoutMs });
    yield* chunks as AsyncGenerator<Chunk, void, undefined>;
  }

  async #infer(input: unknown, options: TensorOptions<Model>): Promise<WithResponse<AnswerHead>> {
    const tensors = tensorsOf(input);
    if (tensors) {
      return await this.#exchange(options, () => this.#tensorRequest(tensors, options), readTensors);
    }
    return await this.#exchange(
      options,
      async (signal) => this.#nativeSent(await nativeRequest(input, planOf(options, signal)), options),
      readNativeAnswer,
    );
  }

  async #exchange<T extends AnswerHead>(
    options: InferOptions,
    prepare: CallRequest['prepare'],
    read: Reader<T>,
  ): Promise<WithResponse<T>> {
    const { maxAnswerBytes } = this.#settings;
    const call = new Call(this.#settings, this.#requestOf(options, prepare));
    try {
      const answer = await call.exchange(async (open): Promise<WithResponse<T>> => {
        const { response, requestId, attempts } = open;
        const data = read(await readAnswer(response, maxAnswerBytes), open);
        return { data, response, requestId, attempts };
      });
      if (answer.data.degraded) tell(options.onDegraded, answer.data);
      return answer;
    } finally {
      call.close();
    }
  }

  #requestOf(options: InferOptions, prepare: CallRequest['prepare']): CallRequest {
    const settings = this.#settings;
    const { deadlineMs, signal, idempotencyKey, maxRetries } = options;
    return {
      method: 'POST',
      prepare,
      acceptedStatuses: [],
      model: this.name,
      mayHedge: true,
      maxRetries: maxRetries ?? settings.maxRetries,
      deadlineMs: deadlineMs === undefined ? settings.timeoutMs : durationOf('deadlineMs', deadlineMs),
      attemptTimeoutMs: settings.attemptTimeoutMs,
      signal,
      idempotencyKey: idempotencyKey ?? settings.ports.key(),
    };
  }

  #tensorRequest(tensors: Readonly<Record<string, Tensor>>, options: TensorOptions<Model>): SentRequest {
    const { parameters = {}, outputs, version } = options;
    const { body, jsonBytes } = v2Request(tensors, { parameters, outputs });
    return {
      path: `${modelPath('v2', this.name, version)}/infer`,
      headers: {
        ...optionHeaders(options),
        'content-type': 'application/octet-stream',
        'inference-header-content-length': String(jsonBytes),
      },
      body,
    };
  }

  #nativeSent({ query, contentType, body }: NativeRequest, options: InferOptions): SentRequest {
    return {
      path: `${modelPath('v1', this.name, options.version)}/predict${query}`,
      headers: { accept: 'application/json', ...optionHeaders(options), 'content-type': contentType },
      body,
    };
  }
}

function readTensors(body: Uint8Array<ArrayBuffer>, { response }: OpenAnswer): TensorAnswer<ModelType> {
  const head = headOfHeaders(response.headers);
  const { model, version, outputs } = readV2Answer(response.headers, body);
  return { ...head, model, version: version ?? head.version, outputs };
}

function planOf({ parameters = {}, contentType }: InferOptions, signal: AbortSignal) {
  return { parameters, contentType, signal };
}

/** The input as named tensors; undefined when it has none. Throws a ValidationError when only some are. */
function tensorsOf(input: unknown): Readonly<Record<string, Tensor>> | undefined {
  if (isTensor(input)) {
    throw new ValidationError('Cannot send the tensor: expected an object with it by the name of its input');
  }
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return undefined;
  const values = Object.values(input);
  if (!values.some(isTensor)) return undefined;
  if (values.every(isTensor)) return input as Readonly<Record<string, Tensor>>;
  throw new ValidationError('Cannot send the input: expected tensors for all of its members, got some');
}
