import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

/** How a peer behaves; changes at once, for calls that come after. */
export type PeerMode =
  | 'good'
  /** Takes the request and never answers; probes too. */
  | 'frozen'
  /** Answers probes, but no batch. */
  | 'deaf'
  /** Closes the connection when a batch has come. */
  | 'half-closed'
  /** Answers with half of what it promised, and closes. */
  | 'cut'
  /** 200 with something that is no JSON. */
  | 'no-json'
  /** An output of the wrong shape. */
  | 'wrong-shape'
  /** More bytes than are told. */
  | 'left-over'
  /** Never ends. */
  | 'endless'
  | 'no-model'
  | 'overloaded'
  | 'failing'
  /** Refuses batches with a negative first element. */
  | 'picky';

export interface SeenInfer {
  readonly headers: IncomingMessage['headers'];
  readonly head: {
    readonly parameters: Record<string, unknown>;
    readonly inputs: readonly { shape: number[]; data?: number[]; parameters?: Record<string, unknown> }[];
  };
  readonly rows: number;
  aborted: boolean;
}

const COLUMNS = 4;

/** A server of the V2 protocol over a real socket, with one model: y [-1, 4] = 2 × x [-1, 4], both FP32. */
export class FakePeer {
  mode: PeerMode = 'good';
  delayMs = 0;
  /** Every so many batches take `slowMs`; 0 for none. */
  slowEvery = 0;
  slowMs = 0;
  binary = true;
  /** Sends outputs as JSON though the request was binary. */
  answersJson = false;
  readonly infers: SeenInfer[] = [];
  probes = 0;
  connections = 0;
  #server: Server;
  #port = 0;
  readonly #sockets = new Set<Socket>();
  readonly #tls: { key: Buffer; cert: Buffer } | undefined;

  private constructor(tls: { key: Buffer; cert: Buffer } | undefined) {
    this.#tls = tls;
    this.#server = this.#create();
  }

  static async start(tls?: { key: Buffer; cert: Buffer }): Promise<FakePeer> {
    const peer = new FakePeer(tls);
    await peer.#listen();
    return peer;
  }

  get address(): string {
    return `${this.#tls ? 'https' : 'http'}://127.0.0.1:${this.#port}`;
  }

  /** As a SIGKILL would: all connections are gone, new ones are refused. */
  async kill(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** At the same address again. */
  async restart(): Promise<void> {
    this.#server = this.#create();
    await this.#listen();
  }

  #create(): Server {
    const listener: RequestListener = (request, response) => void this.#serve(request, response);
    const server = this.#tls ? createTlsServer(this.#tls, listener) : createServer(listener);
    server.on('connection', (socket: Socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    return server;
  }

  async #listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (this.mode === 'frozen') return;
    const path = request.url ?? '';
    if (path.endsWith('/infer')) {
      this.#infer(request, response, Buffer.concat(chunks));
      return;
    }
    if (path.endsWith('/ready')) {
      this.probes += 1;
      json(response, this.mode === 'no-model' && path.includes('/models/') ? 404 : 200, { ready: true });
    } else if (path === '/v2') {
      json(response, 200, {
        name: 'fake',
        version: '1',
        extensions: this.binary ? ['binary_tensor_data'] : [],
      });
    } else if (this.mode === 'no-model') json(response, 404, { error: 'unknown model' });
    else {
      const tensor = { datatype: 'FP32', shape: [-1, COLUMNS] };
      json(response, 200, {
        name: 'm',
        inputs: [{ name: 'x', ...tensor }],
        outputs: [{ name: 'y', ...tensor }],
      });
    }
  }

  #infer(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    const jsonBytes = request.headers['inference-header-content-length'];
    const headBytes = jsonBytes === undefined ? body.length : Number(jsonBytes);
    const head = JSON.parse(body.subarray(0, headBytes).toString()) as SeenInfer['head'];
    const rows = head.inputs[0]?.shape[0] ?? 0;
    const seen: SeenInfer = { headers: request.headers, head, rows, aborted: false };
    this.infers.push(seen);
    response.on('close', () => {
      seen.aborted = !response.writableFinished;
    });
    const raw = new Uint8Array(body.subarray(headBytes));
    const values =
      jsonBytes === undefined
        ? Float32Array.from(head.inputs[0]?.data ?? [])
        : new Float32Array(raw.buffer, 0, raw.length / 4);
    const answer = (): void => this.#answer(response, { values, rows, binary: jsonBytes !== undefined });
    const slow = this.slowEvery > 0 && this.infers.length % this.slowEvery === 0;
    const delayMs = slow ? this.slowMs : this.delayMs;
    if (delayMs > 0) setTimeout(answer, delayMs);
    else answer();
  }

  #answer(
    response: ServerResponse,
    { values, rows, binary }: { values: Float32Array; rows: number; binary: boolean },
  ): void {
    const outputs = new Uint8Array(values.map((value) => 2 * value).buffer);
    switch (this.mode) {
      case 'deaf':
      case 'frozen':
        return;
      case 'half-closed':
        response.socket?.end();
        return;
      case 'cut':
        response.writeHead(200, { 'content-length': 1000 });
        response.write('{"outputs":[');
        setTimeout(() => response.destroy(), 5);
        return;
      case 'endless': {
        response.writeHead(200);
        const chunk = Buffer.alloc(64 * 1024);
        const more = (): void => {
          while (!response.destroyed && response.write(chunk));
          if (!response.destroyed) response.once('drain', more);
        };
        more();
        return;
      }
      case 'no-json':
        response.end('<html>Bad gateway</html>');
        return;
      case 'overloaded':
        response.setHeader('retry-after', '1');
        json(response, 503, { error: 'too many requests' });
        return;
      case 'failing':
        json(response, 500, { error: 'the backend went away' });
        return;
      case 'no-model':
        json(response, 404, { error: 'unknown model' });
        return;
      case 'picky':
        if (values.some((value) => value < 0)) {
          json(response, 400, { error: 'negative values are not supported' });
          return;
        }
    }
    const shape = this.mode === 'wrong-shape' ? [rows, COLUMNS + 1] : [rows, COLUMNS];
    if (!binary || this.answersJson) {
      const data = [...values].map((value) => 2 * value);
      json(response, 200, { model_name: 'm', outputs: [{ name: 'y', datatype: 'FP32', shape, data }] });
      return;
    }
    const parameters = { binary_data_size: outputs.length };
    const text = JSON.stringify({
      model_name: 'm',
      outputs: [{ name: 'y', datatype: 'FP32', shape, parameters }],
    });
    response.setHeader('inference-header-content-length', Buffer.byteLength(text));
    response.setHeader('content-type', 'application/octet-stream');
    const extra = this.mode === 'left-over' ? Buffer.alloc(3) : Buffer.alloc(0);
    response.end(Buffer.concat([Buffer.from(text), outputs, extra]));
  }
}

function json(response: ServerResponse, status: number, document: unknown): void {
  response.statusCode = status;
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(document));
}
