import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FIXTURES, GimbalUnderTest } from '../harness/gimbal.ts';

// The field's own clients, unchanged. They need a Python with their packages (GIMBAL_PYTHON, GIMBAL_PYTHON_KSERVE);
// continuous integration installs them, a stranger's machine skips these tests and says so.
const SCRIPTS = join(import.meta.dirname, 'python');
const CLIENTS = [
  { name: 'tritonclient.http', python: process.env.GIMBAL_PYTHON, script: 'triton_http.py', url: 'host' },
  { name: 'tritonclient.http.aio', python: process.env.GIMBAL_PYTHON, script: 'triton_aio.py', url: 'host' },
  {
    name: 'KServe REST client',
    python: process.env.GIMBAL_PYTHON_KSERVE,
    script: 'kserve_rest.py',
    url: 'http',
  },
] as const;

let models: string;
let server: GimbalUnderTest;

beforeAll(async () => {
  models = mkdtempSync(join(tmpdir(), 'gimbal-conformance-'));
  for (const name of ['add-sub', 'all-types', 'string-echo', 'identity-fp32', 'digits-mlp']) {
    cpSync(join(FIXTURES, 'models', name), join(models, name), { recursive: true });
  }
  server = await GimbalUnderTest.start(models);
});

afterAll(async () => {
  await server?.stop();
  rmSync(models, { recursive: true, force: true });
});

describe.each(CLIENTS)('$name works unchanged', ({ python, script, url }) => {
  const usable = python !== undefined && existsSync(python);
  it.runIf(usable)(
    `passes every check of ${script}`,
    async () => {
      const target = url === 'http' ? server.http : new URL(server.http).host;
      const { lines, code } = await run(python as string, [join(SCRIPTS, script), target]);
      const failed = lines.filter((line) => !line.ok).map((line) => `${line.check}: ${line.reason}`);
      expect(failed).toEqual([]);
      expect(lines.length).toBeGreaterThan(1);
      expect(code).toBe(0);
    },
    300_000,
  );
  it.skipIf(usable)(
    'is skipped: no Python with this client (set GIMBAL_PYTHON and GIMBAL_PYTHON_KSERVE)',
    () => {},
  );
});

interface CheckLine {
  readonly check: string;
  readonly ok: boolean;
  readonly reason?: string;
}

function run(command: string, args: string[]): Promise<{ lines: CheckLine[]; code: number | null }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    let errors = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      errors += chunk;
    });
    child.on('error', reject);
    child.on('close', (code) => {
      const lines = text
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as CheckLine);
      if (lines.length === 0)
        reject(new Error(`the client did not run (exit code ${code}): ${errors.slice(-2000)}`));
      else resolve({ lines, code });
    });
  });
}
