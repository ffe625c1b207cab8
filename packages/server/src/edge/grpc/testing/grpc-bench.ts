import { performance } from 'node:perf_hooks';
import { type CallRecord, type Clock, SeededRandom } from '@gimbal/core';
import {
  type ChannelCredentials,
  Client,
  credentials,
  type Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import type { EdgePorts } from '../../route.ts';
import { FakeInference } from '../../testing/fake-inference.ts';
import type { FakeModel } from '../../testing/fake-model.ts';
import { createGrpcServer, type GrpcServer } from '../grpc-server.ts';
import type { GrpcSettings } from '../grpc-settings.ts';
import { INFERENCE_SERVICE, loadProtocol, type Message, methodsOf } from '../protocol.ts';

const MIB = 1024 * 1024;

export const SETTINGS: GrpcSettings = {
  maxMessageBytes: MIB,
  maxCollectedBytes: 4 * MIB,
  maxConnections: 16,
  maxConcurrentStreams: 100,
  maxStreamInFlight: 4,
  keepAliveMs: 60_000,
  keepAliveTimeoutMs: 20_000,
  minPingIntervalMs: 10_000,
  maxConnectionAgeMs: 0,
  tls: {},
};

const clock: Clock = {
  now: () => performance.now(),
  wallTimeMs: () => performance.timeOrigin + performance.now(),
};

/** What a client got of one call. */
export interface Answered {
  readonly message: Message | undefined;
  readonly error: ServiceError | undefined;
  readonly metadata: Metadata | undefined;
}

/** The methods as another implementation of protobuf has them: what messages are checked against. */
export const METHODS = methodsOf(loadProtocol(), INFERENCE_SERVICE);

/** A real server over fakes, and a client of the library's own. */
export class GrpcBench {
  readonly inference: FakeInference;
  readonly records: CallRecord[] = [];
  readonly server: GrpcServer;
  readonly ports: EdgePorts;
  port = 0;
  readonly #clients: Client[] = [];

  constructor(models: readonly FakeModel[], settings: Partial<GrpcSettings> = {}) {
    this.inference = new FakeInference(models);
    this.ports = {
      inference: this.inference,
      clock,
      random: new SeededRandom(7),
      observer: { finished: (record) => this.records.push(record) },
      limits: { maxBodyBytes: MIB, maxInputs: 8, maxJsonDepth: 20 },
      stream: { heartbeatMs: 15_000, stallMs: 300_000 },
      server: { name: 'gimbal', version: '0.1.0' },
      defaultModel: undefined,
    };
    this.server = createGrpcServer({ ports: this.ports, settings: { ...SETTINGS, ...settings } });
  }

  async start(): Promise<this> {
    const { port } = await this.server.listen({ host: '127.0.0.1', port: 0 });
    this.port = port;
    return this;
  }

  client(channel: ChannelCredentials = credentials.createInsecure(), options = {}): Client {
    const client = new Client(`localhost:${this.port}`, channel, {
      // Each client of a test has a connection of its own.
      'grpc.use_local_subchannel_pool': 1,
      'grpc.max_receive_message_length': -1,
      'grpc.max_send_message_length': -1,
      'grpc.default_authority': 'localhost',
      ...options,
    });
    this.#clients.push(client);
    return client;
  }

  /** Calls a unary method by its name. */
  ask(
    name: string,
    request: Message,
    { client = this.client(), metadata, options = {} }: AskOptions = {},
  ): Promise<Answered> {
    const method = METHODS[name];
    if (!method) throw new Error(`no method ${name}`);
    return new Promise((resolve) => {
      let received: Metadata | undefined;
      const done = (error: ServiceError | null, message?: Message): void =>
        resolve({ message, error: error ?? undefined, metadata: received });
      const { path, requestSerialize, responseDeserialize } = method;
      const call = metadata
        ? client.makeUnaryRequest(
            path,
            requestSerialize,
            responseDeserialize,
            request,
            metadata,
            options,
            done,
          )
        : client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, options, done);
      call.on('metadata', (head) => {
        received = head;
      });
    });
  }

  /** Waits until a condition holds, giving the event loop its turns; fails after a while. */
  async until(what: string, condition: () => boolean): Promise<void> {
    const end = performance.now() + 10_000;
    while (!condition()) {
      if (performance.now() > end) throw new Error(`never: ${what}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Lets every waiting work run once there are `count` of them. */
  async settle(count = 1): Promise<void> {
    await this.until(`${count} works wait`, () => this.inference.waiting.length >= count);
    this.inference.settleAll();
  }

  async stop(): Promise<void> {
    for (const client of this.#clients) client.close();
    await this.server.close(0);
  }
}

export interface AskOptions {
  readonly client?: Client;
  readonly metadata?: Metadata;
  readonly options?: { readonly deadline?: number };
}

/** A request of `add-sub` in typed contents. */
export function anAddSub(id = '', more: Message = {}): Message {
  const row = Array.from({ length: 16 }, (_, index) => index);
  const input = (name: string): Message => ({
    name,
    datatype: 'INT32',
    shape: [1, 16],
    contents: { int_contents: row },
  });
  return { model_name: 'add-sub', id, inputs: [input('INPUT0'), input('INPUT1')], ...more };
}
