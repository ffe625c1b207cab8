import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GimbalUnderTest } from '../harness/gimbal.ts';
import { ModelFolder } from '../harness/models.ts';

// The field's load tool and a property-based API tester, unchanged; skipped with a message where they are not installed.
const PERF_ANALYZER = process.env.GIMBAL_PERF_ANALYZER;
const SCHEMATHESIS = process.env.GIMBAL_SCHEMATHESIS;
const usable = (path: string | undefined): path is string => path !== undefined && existsSync(path);

let models: ModelFolder;
let server: GimbalUnderTest;

beforeAll(async () => {
  models = new ModelFolder(['digits-mlp', 'add-sub', 'string-echo', 'identity-fp32', 'examples/minilm']);
  // It gives back what it gets: NaN in a raw tensor is no fault of this model, and it says so.
  writeFileSync(join(models.path, 'identity-fp32', '1', 'version.yaml'), 'nonFiniteOutputs: allow\n');
  server = await GimbalUnderTest.start(models.path);
});

afterAll(async () => {
  await server?.stop();
  models?.remove();
});

describe('perf_analyzer', () => {
  it.skipIf(usable(PERF_ANALYZER))('is skipped: not installed (set GIMBAL_PERF_ANALYZER)', () => {});
  it.runIf(usable(PERF_ANALYZER)).each([
    { model: 'digits-mlp', extra: [] },
    { model: 'add-sub', extra: ['-b', '4'] },
    { model: 'add-sub', extra: ['--input-tensor-format', 'json', '--output-tensor-format', 'json'] },
    { model: 'identity-fp32', extra: ['--shape', 'INPUT0:1000'] },
  ])('measures $model over HTTP ($extra)', async ({ model, extra }) => {
    const address = new URL(server.http).host;
    const { code, text } = await run(PERF_ANALYZER as string, [
      ...[
        '-m',
        model,
        '-u',
        address,
        '-i',
        'http',
        '--concurrency-range',
        '4',
        '-p',
        '1000',
        '-s',
        '90',
        '-r',
        '4',
      ],
      ...extra,
    ]);
    expect(text).toContain('Inferences/Second');
    expect(text).not.toContain('error');
    expect(code).toBe(0);
  });
});

describe('schemathesis', () => {
  it.skipIf(usable(SCHEMATHESIS))('is skipped: not installed (set GIMBAL_SCHEMATHESIS)', () => {});
  it.runIf(usable(SCHEMATHESIS))(
    'finds no server error on the served OpenAPI document',
    async () => {
      const { code, text } = await run(SCHEMATHESIS as string, [
        ...['--config-file', join(import.meta.dirname, 'schemathesis.toml')],
        'run',
        `${server.http}/openapi.json`,
        ...[
          '--checks',
          'not_a_server_error',
          '--max-examples',
          '25',
          '--seed',
          '7',
          '--no-color',
          '--phases',
          'examples,coverage,fuzzing',
        ],
        ...['--request-timeout', '20'],
        // Unloading a model is an operation of the API: it would make the other operations fail rightly.
        ...['--exclude-path-regex', 'repository/models'],
      ]);
      expect(code, text.slice(-6000)).toBe(0);
      expect((await server.runners()).every((runner) => runner.restarts === 0)).toBe(true);
      expect(await server.metric('gimbal_inflight')).toBe(0);
    },
    600_000,
  );
});

function run(command: string, args: string[]): Promise<{ code: number | null; text: string }> {
  return new Promise((resolve, reject) => {
    // Tools leave caches and reports where they run.
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: tmpdir() });
    let text = '';
    const add = (chunk: Buffer): void => {
      text += chunk.toString('utf8');
    };
    child.stdout.on('data', add);
    child.stderr.on('data', add);
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, text }));
  });
}
