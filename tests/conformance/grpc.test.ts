import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, GimbalUnderTest } from '../harness/gimbal.ts';
import { ModelFolder } from '../harness/models.ts';

// The field's own gRPC clients, unchanged; they come with the Python of the REST clients.
const SCRIPTS = join(import.meta.dirname, 'python');
const TRITON = process.env.GIMBAL_PYTHON;
const KSERVE = process.env.GIMBAL_PYTHON_KSERVE;
const CLIENTS = [
  { name: 'tritonclient.grpc', python: TRITON, script: 'grpc_sync.py', least: 20 },
  { name: 'tritonclient.grpc.aio', python: TRITON, script: 'grpc_aio.py', least: 5 },
  { name: 'KServe gRPC client', python: KSERVE, script: 'grpc_kserve.py', least: 2 },
] as const;
const MODELS = ['add-sub', 'all-types', 'string-echo', 'identity-fp32', 'digits-mlp', 'sequence-slow'];
const ANY_PORT = ['--grpc-port', '0'];
const SHORT_LAME_DUCK = ['--lame-duck-ms', '200'];

let models: ModelFolder;
let server: GimbalUnderTest;

beforeAll(async () => {
  models = new ModelFolder(MODELS);
  server = await GimbalUnderTest.start(models.path, { flags: ANY_PORT });
});

afterAll(async () => {
  await server?.stop();
  models?.remove();
});

describe.each(CLIENTS)('$name works unchanged', ({ python, script, least }) => {
  const usable = isThere(python);
  it.runIf(usable)(
    `passes every check of ${script}`,
    async () => {
      const { lines, code } = await run(python as string, [join(SCRIPTS, script), grpcOf(server)]);
      expect(lines.filter((line) => !line.ok).map((line) => `${line.check}: ${line.reason}`)).toEqual([]);
      expect(lines.length).toBeGreaterThanOrEqual(least);
      expect(code).toBe(0);
    },
    300_000,
  );
  it.skipIf(usable)(
    'is skipped: no Python with this client (set GIMBAL_PYTHON and GIMBAL_PYTHON_KSERVE)',
    () => {},
  );
});

describe('gRPC beside HTTP', () => {
  it.runIf(isThere(TRITON))('calls are recorded under their own protocol, cancelled ones too', async () => {
    await run(TRITON as string, [join(SCRIPTS, 'grpc_aio.py'), grpcOf(server)]);
    const requests = 'gimbal_requests_total';
    await eventually('answers are counted', async () => {
      return (await server.metric(requests, { protocol: 'grpc', outcome: 'ok', model: 'add-sub' })) >= 100;
    });
    expect(await server.metric(requests, { protocol: 'grpc', outcome: 'cancelled' })).toBeGreaterThan(0);
    const rejected = { protocol: 'grpc', outcome: 'client_error' };
    expect(await server.metric(requests, rejected)).toBeGreaterThan(0);
    expect(await server.metric(requests, { protocol: 'grpc', outcome: 'error' })).toBe(0);
  });

  it.runIf(isThere(TRITON))('a server that is told to stop answers every call that it took', async () => {
    const stopped = await GimbalUnderTest.start(models.path, { flags: [...ANY_PORT, ...SHORT_LAME_DUCK] });
    const { lines } = await run(
      TRITON as string,
      [join(SCRIPTS, 'grpc_drain.py'), grpcOf(stopped)],
      (line) => {
        if (line.check === 'under way') stopped.signal('SIGTERM');
      },
    );
    expect(lines.filter((line) => !line.ok).map((line) => line.reason)).toEqual([]);
    expect(lines).toHaveLength(2);
    expect((await stopped.exited).code).toBe(0);
  });
});

/** `host:port` from the event that tells where the server listens. */
function grpcOf(of: GimbalUnderTest): string {
  const address = of.events.find(({ event }) => event === 'ready')?.grpc;
  if (typeof address !== 'string') throw new Error('the server does not say where gRPC is');
  return address;
}

function isThere(python: string | undefined): boolean {
  return python !== undefined && existsSync(python);
}

interface CheckLine {
  readonly check: string;
  readonly ok: boolean;
  readonly reason?: string;
}

/** Runs a script of checks; each prints one line of JSON. */
async function run(
  command: string,
  args: string[],
  onLine: (line: CheckLine) => void = () => {},
): Promise<{ lines: CheckLine[]; code: number | null }> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const lines: CheckLine[] = [];
  let errors = '';
  createInterface({ input: child.stdout }).on('line', (text) => {
    if (!text.startsWith('{')) return;
    const line = JSON.parse(text) as CheckLine;
    lines.push(line);
    onLine(line);
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    errors += chunk;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (lines.length === 0)
    throw new Error(`the client did not run (exit code ${code}): ${errors.slice(-2000)}`);
  return { lines, code };
}
