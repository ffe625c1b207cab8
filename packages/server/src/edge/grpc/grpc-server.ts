import { GimbalError } from '@gimbal/core';
import { type MethodDefinition, Server, type UntypedHandleCall } from '@grpc/grpc-js';
import type { PackageDefinition } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import type { EdgePorts } from '../route.ts';
import { type CallFront, type Fronts, frontInterceptor } from './call-front.ts';
import { type GrpcSettings, libraryOptions, serverCredentials } from './grpc-settings.ts';
import { HealthCheck } from './health-check.ts';
import { InferStreams } from './infer-stream.ts';
import { Intake } from './intake.ts';
import { modelInfer } from './model-infer.ts';
import { HEALTH_SERVICE, INFERENCE_SERVICE, loadProtocol, type Message, methodsOf } from './protocol.ts';
import { Sessions } from './sessions.ts';
import { unaryHandler, unaryMethods } from './unary-methods.ts';

/** Between the word that no more calls should come and the end of taking them: calls on their way arrive. */
const LAST_CALLS_MS = 250;

export interface GrpcServerOptions {
  readonly ports: EdgePorts;
  readonly settings: GrpcSettings;
}

export interface GrpcCounters {
  /** Open client connections. */
  readonly connections: number;
  /** Calls that have not ended. */
  readonly calls: number;
}

/** The Open Inference Protocol V2 over gRPC, health checking and reflection. */
export interface GrpcServer {
  /** Port 0 takes any free one. Fails with INTERNAL when the port can't be opened or a TLS file can't be read. */
  listen(address: { readonly host: string; readonly port: number }): Promise<{ readonly port: number }>;
  /**
   * Clients are told to go elsewhere, calls inside finish; after `graceMs` what is left is cut off. Told again, the
   * shorter time counts.
   */
  close(graceMs: number): Promise<void>;
  readonly counters: GrpcCounters;
}

export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  return new InferenceServer(options);
}

class InferenceServer implements GrpcServer {
  readonly #options: GrpcServerOptions;
  readonly #server: Server;
  readonly #intake: Intake;
  readonly #sessions: Sessions;
  readonly #health: HealthCheck;
  readonly #streams: InferStreams;
  #closed: Promise<void> | undefined;
  /** What has not ended when this resolves is cut off. */
  readonly #cutOff = Promise.withResolvers<void>();
  #cutOffTimer: NodeJS.Timeout | undefined;

  constructor(options: GrpcServerOptions) {
    const { ports, settings } = options;
    const fronts: Fronts = new WeakMap<object, CallFront>();
    const protocol = loadProtocol();
    this.#intake = new Intake(settings);
    this.#options = options;
    this.#server = new Server({
      ...libraryOptions(settings),
      interceptors: [frontInterceptor(ports, this.#intake, fronts)],
    });
    this.#sessions = new Sessions(settings, ports.clock);
    this.#health = new HealthCheck(ports, methodsOf(protocol, HEALTH_SERVICE));
    this.#streams = new InferStreams(ports, fronts, settings.maxStreamInFlight);
    this.#serveInference(protocol, fronts);
    this.#serveHealth(protocol, fronts);
    new ReflectionService(protocol).addToServer(this.#server);
  }

  get counters(): GrpcCounters {
    return { connections: this.#sessions.connections, calls: this.#sessions.streams };
  }

  async listen({ host, port }: { host: string; port: number }): Promise<{ port: number }> {
    const credentials = await serverCredentials(this.#options.settings.tls);
    const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
    const bound = await new Promise<number>((resolve, reject) => {
      this.#server.bindAsync(address, credentials, (cause, taken) => {
        if (!cause) resolve(taken);
        else reject(new GimbalError('INTERNAL', `Cannot listen on ${address} for gRPC`, { cause }));
      });
    });
    this.#sessions.watch(this.#server, this.#intake.arrive);
    return { port: bound };
  }

  close(graceMs: number): Promise<void> {
    clearTimeout(this.#cutOffTimer);
    this.#cutOffTimer = setTimeout(() => this.#cutOff.resolve(), graceMs);
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#health.close();
    this.#streams.drain();
    this.#sessions.announceEnd();
    await Promise.race([this.#lastCalls(), this.#cutOff.promise]);
    this.#streams.drain();
    const finished = new Promise<void>((resolve) => this.#server.tryShutdown(() => resolve()));
    await Promise.race([finished, this.#cutOff.promise]);
    clearTimeout(this.#cutOffTimer);
    this.#sessions.destroy();
    this.#server.forceShutdown();
  }

  #lastCalls(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, LAST_CALLS_MS));
  }

  #serveInference(protocol: PackageDefinition, fronts: Fronts): void {
    const { ports } = this.#options;
    const definitions = methodsOf(protocol, INFERENCE_SERVICE);
    const methods = unaryMethods(ports);
    for (const [name, definition] of Object.entries(definitions)) {
      if (name === 'ModelInfer') this.#register(definition, modelInfer(ports, fronts), 'unary');
      else if (name === 'ModelStreamInfer') this.#register(definition, this.#streams.handler, 'bidi');
      else {
        const method = methods[name];
        if (!method) throw new Error(`nobody answers ${definition.path}`);
        this.#register(definition, unaryHandler(ports, fronts, { definition, method }), 'unary');
      }
    }
  }

  #serveHealth(protocol: PackageDefinition, fronts: Fronts): void {
    const { Check, Watch } = methodsOf(protocol, HEALTH_SERVICE);
    if (!Check || !Watch) throw new Error('health checking is not in the proto files');
    const check = { definition: Check, method: this.#health.check };
    this.#register(Check, unaryHandler(this.#options.ports, fronts, check), 'unary');
    this.#server.register(
      Watch.path,
      this.#health.watch as UntypedHandleCall,
      (status: Message) => Watch.responseSerialize(status),
      asItIs,
      'serverStream',
    );
  }

  /** Messages pass the library as bytes: they are decoded where what is wrong with them gets a status of ours. */
  #register({ path }: MethodDefinition<Message, Message>, handler: unknown, type: 'unary' | 'bidi'): void {
    this.#server.register(path, handler as UntypedHandleCall, asItIs, asItIs, type);
  }
}

function asItIs(bytes: Buffer): Buffer {
  return bytes;
}
