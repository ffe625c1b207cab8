import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, it } from 'vitest';
import { type AcceptTrouble, createHttpServer, type HttpServer } from './server.ts';
import { until } from './testing/eventually.ts';
import { RawClient } from './testing/raw-client.ts';
import { TEST_LIMITS } from './testing/test-server.ts';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const clients: RawClient[] = [];

afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
});

async function aClient(port: number): Promise<RawClient> {
  const client = await RawClient.open(port);
  clients.push(client);
  return client;
}

describe('a server that has hardly any descriptors left', () => {
  let nowMs = 0;
  let troubles: AcceptTrouble[] = [];
  let server: HttpServer | undefined;

  afterEach(() => server?.close(0));

  /** Every descriptor of this process is past a limit of one. */
  async function start(maxOpenFiles: number): Promise<number> {
    nowMs = 0;
    troubles = [];
    server = createHttpServer({
      listener: (exchange) => exchange.respond(200, '', ''),
      limits: TEST_LIMITS,
      clock: { now: () => nowMs, wallTimeMs: () => nowMs },
      draining: () => false,
      maxOpenFiles,
      onAcceptTrouble: (trouble) => troubles.push(trouble),
      ticker: () => () => {},
    });
    return (await server.listen({ host: '127.0.0.1', port: 0 })).port;
  }

  it('refuses connections with 503 and Retry-After before the system does without a word', async () => {
    const client = await aClient(await start(1));
    const answer = await client.answer();
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(JSON.parse(answer.body.toString())).toMatchObject({ code: 'OVERLOADED', retryable: true });
    await client.end();
    expect(server?.counters).toMatchObject({ open: 0, refused: 1 });
  });

  it('tells of it once in an interval, with how many there were', async () => {
    const port = await start(1);
    for (let count = 1; count <= 3; count += 1) await (await aClient(port)).answer();
    expect(troubles).toEqual([{ code: 'OVERLOADED', connections: 1, maxOpenFiles: 1 }]);
    nowMs = 10_000;
    await (await aClient(port)).answer();
    expect(troubles.slice(1)).toEqual([{ code: 'OVERLOADED', connections: 3, maxOpenFiles: 1 }]);
  });

  it('takes them while there are enough', async () => {
    const client = await aClient(await start(1_000_000));
    client.send(GET);
    expect((await client.answer()).status).toBe(200);
    expect(troubles).toEqual([]);
  });
});

describe.runIf(process.platform === 'linux')('ulimit -n 64', () => {
  let child: ChildProcess | undefined;
  afterEach(() => child?.kill('SIGKILL'));

  it('has every one of 100 connections answered, none reset, and is told', async () => {
    const lines: Record<string, unknown>[] = [];
    const script = join(import.meta.dirname, 'testing', 'limited-server.ts');
    child = spawn('sh', ['-c', 'ulimit -n 64; exec "$0" "$1" 64', process.execPath, script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (child.stdout)
      createInterface(child.stdout).on('line', (line) => lines.push(JSON.parse(line) as (typeof lines)[0]));
    await until(() => lines.length > 0);
    const statuses: number[] = [];
    // Connections stay open: the later ones find no room.
    for (let count = 0; count < 100; count += 1) {
      const client = await aClient(Number(lines[0]?.port));
      client.send(GET);
      statuses.push((await client.answer()).status);
    }
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(8);
    await until(() => lines.length > 1);
    expect(lines[1]).toMatchObject({ code: 'OVERLOADED', maxOpenFiles: 64 });
  });
});
