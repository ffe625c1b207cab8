import { fileURLToPath } from 'node:url';
import {
  type Metadata,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const PROTOS = fileURLToPath(new URL('../v2-grpc/protos', import.meta.url));
const COLUMNS = 4;

interface InferRequest {
  readonly parameters: Record<string, { int64_param: string }>;
  readonly inputs: readonly { readonly shape: readonly string[] }[];
  readonly raw_input_contents: readonly Buffer[];
}

interface FakeCall<Request> {
  readonly request: Request;
  readonly metadata: Metadata;
  on(event: 'cancelled', then: () => void): void;
}

export interface SeenGrpcInfer {
  readonly metadata: Metadata;
  readonly timeoutMicros: number;
  readonly rows: number;
  cancelled: boolean;
}

/** The model of `FakePeer` over gRPC. */
export class FakeGrpcPeer {
  mode: 'good' | 'frozen' | 'typed' | 'garbage' | 'wrong-shape' | number = 'good';
  readonly infers: SeenGrpcInfer[] = [];
  readonly address: string;
  #server: Server;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.address = `grpc://127.0.0.1:${port}`;
  }

  static async start(): Promise<FakeGrpcPeer> {
    const server = new Server();
    let peer: FakeGrpcPeer | undefined;
    server.addService(
      service(),
      methods(() => peer as FakeGrpcPeer),
    );
    const port = await bind(server, 0);
    peer = new FakeGrpcPeer(server, port);
    return peer;
  }

  kill(): void {
    this.#server.forceShutdown();
  }

  async restart(): Promise<void> {
    this.#server = new Server();
    this.#server.addService(
      service(),
      methods(() => this),
    );
    await bind(this.#server, Number(new URL(this.address).port));
  }

  infer(call: FakeCall<InferRequest>, answer: sendUnaryData<object>): void {
    const { request, metadata } = call;
    const rows = Number(request.inputs[0]?.shape[0]);
    const timeoutMicros = Number(request.parameters.timeout?.int64_param);
    const seen: SeenGrpcInfer = { metadata, timeoutMicros, rows, cancelled: false };
    this.infers.push(seen);
    call.on('cancelled', () => {
      seen.cancelled = true;
    });
    if (this.mode === 'frozen') return;
    if (typeof this.mode === 'number') {
      answer({ code: this.mode, details: 'as the test wants it' });
      return;
    }
    const values = new Float32Array(Uint8Array.from(request.raw_input_contents[0] ?? []).buffer).map(
      (one) => 2 * one,
    );
    const shape = this.mode === 'wrong-shape' ? [rows, COLUMNS + 1] : [rows, COLUMNS];
    const head = { name: 'y', datatype: 'FP32', shape };
    if (this.mode === 'typed')
      answer(null, { outputs: [{ ...head, contents: { fp32_contents: [...values] } }] });
    else if (this.mode === 'garbage') answer(null, { outputs: [head], raw_output_contents: [] });
    else answer(null, { outputs: [head], raw_output_contents: [Buffer.from(values.buffer)] });
  }
}

function service(): ServiceDefinition {
  const options = { includeDirs: [PROTOS], keepCase: true, longs: String, defaults: true, arrays: true };
  return loadSync('inference.proto', options)[
    'inference.GRPCInferenceService'
  ] as unknown as ServiceDefinition;
}

function methods(peer: () => FakeGrpcPeer): UntypedServiceImplementation {
  const unlessFrozen =
    (document: object) =>
    (_call: unknown, answer: sendUnaryData<object>): void => {
      if (peer().mode !== 'frozen') answer(null, document);
    };
  const tensor = { datatype: 'FP32', shape: [-1, COLUMNS] };
  return {
    ServerReady: unlessFrozen({ ready: true }),
    ModelReady: unlessFrozen({ ready: true }),
    ModelMetadata: unlessFrozen({
      name: 'm',
      inputs: [{ name: 'x', ...tensor }],
      outputs: [{ name: 'y', ...tensor }],
    }),
    ModelInfer: (call: FakeCall<InferRequest>, answer: sendUnaryData<object>) => peer().infer(call, answer),
  } as unknown as UntypedServiceImplementation;
}

function bind(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, bound) => {
      if (error) reject(error);
      else resolve(bound);
    });
  });
}

export const GRPC_STATUS = status;
