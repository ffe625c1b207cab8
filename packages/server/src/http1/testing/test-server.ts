import type { Clock, GimbalError } from '@gimbal/core';
import type { Exchange, HttpLimits } from '../exchange.ts';
import { createHttpServer, type HttpServer } from '../server.ts';
import { RawClient } from './raw-client.ts';

export const TEST_LIMITS: HttpLimits = {
  maxHeadBytes: 16 * 1024,
  maxHeaders: 100,
  headTimeoutMs: 10_000,
  bodyTimeoutMs: 30_000,
  minBodyBytesPerSecond: 64 * 1024,
  keepAliveTimeoutMs: 75_000,
  maxConnections: 100,
  maxRequestsPerConnection: 1_000_000,
  maxCollectedBytes: 64 * 1024 * 1024,
  writeTimeoutMs: 30_000,
};

/** A server on a real socket whose clock and timer are turned by the test. */
export interface TestServer {
  readonly port: number;
  readonly http: HttpServer;
  readonly malformed: GimbalError[];
  draining: boolean;
  /** Lets time pass, in sweeps of 500 ms. */
  pass(durationMs: number): void;
  client(): Promise<RawClient>;
  stop(): Promise<void>;
}

const SWEEP_MS = 500;

export async function aServer(
  listener: (exchange: Exchange) => void,
  limits: Partial<HttpLimits> = {},
  wantedPort = 0,
): Promise<TestServer> {
  let nowMs = 1000;
  let tick = (): void => {};
  const clock: Clock = { now: () => nowMs, wallTimeMs: () => 784_111_777_000 + nowMs };
  const malformed: GimbalError[] = [];
  const clients: RawClient[] = [];
  const http = createHttpServer({
    listener,
    limits: { ...TEST_LIMITS, ...limits },
    clock,
    draining: () => server.draining,
    onMalformed: (error) => malformed.push(error),
    ticker: (_intervalMs, given) => {
      tick = given;
      return () => {
        tick = () => {};
      };
    },
  });
  const { port } = await http.listen({ host: '127.0.0.1', port: wantedPort });
  const server: TestServer = {
    port,
    http,
    malformed,
    draining: false,
    pass(durationMs) {
      const end = nowMs + durationMs;
      tick();
      while (nowMs < end) {
        nowMs = Math.min(end, nowMs + SWEEP_MS);
        tick();
      }
    },
    async client() {
      const client = await RawClient.open(port);
      clients.push(client);
      return client;
    },
    async stop() {
      for (const client of clients) client.destroy();
      await http.close(0);
    },
  };
  return server;
}

/** Answers every request with a line that says what came: method, target, body. */
export function echo(exchange: Exchange): void {
  const { method, path, query } = exchange.head;
  exchange.readBody(
    1024 * 1024,
    (body) => {
      const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1');
      exchange.respond(200, 'Content-Type: text/plain\r\n', `${method} ${path}?${query} ${text}`);
    },
    (error) => exchange.respond(error.row.http, '', `${error.code}: ${error.message}`),
  );
}
