import { fileURLToPath } from 'node:url';
import type { Clock, RemoteSpec } from '@gimbal/core';
import {
  type ChannelCredentials,
  Client,
  credentials as grpcCredentials,
  Metadata,
  type MethodDefinition,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { loadSync, type PackageDefinition } from '@grpc/proto-loader';
import type { Attempt, RemoteAnswer, RemoteChannel, RemoteDescription, RemoteRequest } from '../channel.ts';
import type { Credentials } from '../credentials.ts';
import { readDescription } from '../description.ts';
import { PeerFailure, quoted } from '../peer-failure.ts';
import { type InferMessage, readGrpcAnswer } from './grpc-answer.ts';

const PROTOS = fileURLToPath(new URL('./protos', import.meta.url));
const PROTECTED = 'grpcs:';
const MICROS_IN_MS = 1000;
/** How soon a connection that was lost is tried again; the endpoint's own back-off decides when batches come. */
const FIRST_RECONNECT_MS = 100;
const MAX_RECONNECT_MS = 1_000;
/** An idle connection is asked so often whether its other end is there. */
const KEEP_ALIVE_MS = 30_000;
const KEEP_ALIVE_TIMEOUT_MS = 5_000;
/** The call's own deadline on the wire comes after ours, which can tell a silent endpoint from a short budget. */
const WIRE_MARGIN_MS = 10;

type Methods = Readonly<Record<string, MethodDefinition<object, object>>>;

let methods: Methods | undefined;

/** One endpoint of the Open Inference Protocol V2 over gRPC. */
export class GrpcChannel implements RemoteChannel {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #model: string;
  readonly #version: string;

  constructor(
    address: string,
    { spec, credentials, clock }: { spec: RemoteSpec; credentials: Credentials; clock: Clock },
  ) {
    const url = new URL(address);
    const { servername } = credentials.tls;
    methods ??= loadMethods();
    this.#clock = clock;
    this.#headers = credentials.headers;
    this.#model = spec.model;
    this.#version = spec.version ?? '';
    this.#client = new Client(url.host, channelCredentials(url.protocol, credentials), {
      'grpc.max_receive_message_length': spec.maxResponseBytes,
      'grpc.max_send_message_length': -1,
      'grpc.initial_reconnect_backoff_ms': FIRST_RECONNECT_MS,
      'grpc.min_reconnect_backoff_ms': FIRST_RECONNECT_MS,
      'grpc.max_reconnect_backoff_ms': MAX_RECONNECT_MS,
      'grpc.keepalive_time_ms': KEEP_ALIVE_MS,
      'grpc.keepalive_timeout_ms': KEEP_ALIVE_TIMEOUT_MS,
      'grpc.enable_retries': 0,
      // Each endpoint has connections of its own: two pools of the same server must not share a lost one.
      'grpc.use_local_subchannel_pool': 1,
      ...(servername === undefined ? {} : { 'grpc.ssl_target_name_override': servername }),
    });
  }

  async describe(attempt: Attempt): Promise<RemoteDescription> {
    return readDescription(await this.#call('ModelMetadata', this.#modelNamed(), attempt));
  }

  async probe(attempt: Attempt): Promise<void> {
    const server = (await this.#call('ServerReady', {}, attempt)) as { ready: boolean };
    if (!server.ready) throw new PeerFailure('refused', 'the remote server is not ready');
    const model = (await this.#call('ModelReady', this.#modelNamed(), attempt)) as { ready: boolean };
    if (!model.ready) throw new PeerFailure('refused', 'the remote model is not ready');
  }

  async run({ signature, tensors }: RemoteRequest, attempt: Attempt): Promise<RemoteAnswer> {
    const timeoutMicros = Math.max(1, Math.floor(attempt.timeoutMs * MICROS_IN_MS));
    const message = {
      model_name: this.#model,
      model_version: this.#version,
      parameters: { timeout: { int64_param: timeoutMicros } },
      inputs: signature.inputs.map(({ name, datatype }, index) => ({
        name,
        datatype,
        shape: tensors[index]?.shape ?? [],
      })),
      outputs: signature.outputs.map(({ name }) => ({ name })),
      raw_input_contents: tensors.map(({ bytes }) => bytes),
    };
    return readGrpcAnswer((await this.#call('ModelInfer', message, attempt)) as InferMessage);
  }

  close(): void {
    this.#client.close();
  }

  #modelNamed(): { name: string; version: string } {
    return { name: this.#model, version: this.#version };
  }

  #call(name: string, message: object, { timeoutMs, signal }: Attempt): Promise<object> {
    const method = methods?.[name];
    if (method === undefined) throw new Error(`${name} is not in the proto file`);
    const metadata = new Metadata();
    for (const [header, value] of Object.entries(this.#headers)) metadata.set(header, value);
    const deadline = this.#clock.wallTimeMs() + timeoutMs + WIRE_MARGIN_MS;
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(new PeerFailure('aborted', 'the call was called off'));
        return;
      }
      const call = this.#client.makeUnaryRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        message,
        metadata,
        { deadline },
        (error, answer) => {
          signal.removeEventListener('abort', onAbort);
          if (error === null && answer !== undefined) resolve(answer);
          else reject(failureOf(error, signal));
        },
      );
      const onAbort = (): void => call.cancel();
      signal.addEventListener('abort', onAbort);
    });
  }
}

function channelCredentials(protocol: string, { tls }: Credentials): ChannelCredentials {
  if (protocol !== PROTECTED) return grpcCredentials.createInsecure();
  return grpcCredentials.createSsl(tls.ca ?? null, tls.key ?? null, tls.cert ?? null);
}

function loadMethods(): Methods {
  const definition: PackageDefinition = loadSync('inference.proto', {
    includeDirs: [PROTOS],
    keepCase: true,
    longs: String,
    defaults: true,
    arrays: true,
  });
  return definition['inference.GRPCInferenceService'] as unknown as Methods;
}

/** What the library says of a connection that there is none of, beside what servers say with the same code. */
const UNREACHABLE =
  /no connection established|name resolution|ECONNREFUSED|ENOTFOUND|EHOSTUNREACH|certificate|self.signed/i;
const BROKEN = /connection dropped|ECONNRESET|EPIPE|socket|stream|transport|goaway/i;

function failureOf(error: ServiceError | null, signal: AbortSignal): PeerFailure {
  if (error === null) return new PeerFailure('garbage', 'the remote engine answers with no message');
  const { code, details } = error;
  const options = { cause: error };
  const words = `"${quoted(details)}"`;
  switch (code) {
    case status.CANCELLED:
      return signal.aborted
        ? new PeerFailure('aborted', 'the call was called off', options)
        : new PeerFailure('broken', 'the remote engine ended the call', options);
    case status.INVALID_ARGUMENT:
    case status.OUT_OF_RANGE:
      return new PeerFailure('input', `the remote engine refuses the input, ${words}`, options);
    case status.DEADLINE_EXCEEDED:
      return new PeerFailure('late', `the remote engine ran out of time, ${words}`, options);
    case status.NOT_FOUND:
    case status.UNIMPLEMENTED:
    case status.FAILED_PRECONDITION:
      return new PeerFailure('refused', `the remote engine does not have the model, ${words}`, options);
    case status.UNAUTHENTICATED:
    case status.PERMISSION_DENIED:
      return new PeerFailure('refused', 'the remote engine does not let us in', options);
    case status.RESOURCE_EXHAUSTED:
      return /message larger than max/i.test(details)
        ? new PeerFailure('garbage', "the remote engine's answer is too large", options)
        : new PeerFailure('overloaded', `the remote engine is overloaded, ${words}`, options);
    case status.UNAVAILABLE:
      return unavailable(details, options);
    case status.INTERNAL:
      return /parse|deserializ|illegal|wire type/i.test(details)
        ? new PeerFailure('garbage', "the remote engine's answer can not be read", options)
        : new PeerFailure('failed', `the remote engine failed, ${words}`, options);
    default:
      return new PeerFailure('failed', `the remote engine failed, ${words}`, options);
  }
}

function unavailable(details: string, options: { cause: unknown }): PeerFailure {
  if (UNREACHABLE.test(details)) {
    const why = /certificate|self.signed/i.test(details) ? ': its certificate is not trusted' : '';
    return new PeerFailure('unreachable', `the remote engine can not be reached${why}`, options);
  }
  if (BROKEN.test(details)) {
    return new PeerFailure('broken', 'the remote engine ended the connection before it answered', options);
  }
  return new PeerFailure('overloaded', `the remote engine is overloaded, "${quoted(details)}"`, options);
}
