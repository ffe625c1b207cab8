import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../harness/gimbal.ts';

/** The whole drill, its server's start and end included. */
const LIMIT_MS = 150_000;

interface Report {
  readonly passed: boolean;
  readonly checks: readonly { readonly what: string; readonly passed: boolean; readonly got: string }[];
  readonly requests: number;
  readonly codes: Readonly<Record<string, number>>;
}

/** Runs a drill as users do. */
function drill(
  name: string,
  flags: readonly string[] = [],
): Promise<{ code: number | null; report: Report }> {
  const main = join(ROOT, 'packages/cli/src/main.ts');
  const child = spawn(process.execPath, [main, 'drill', name, '--json', ...flags], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  return new Promise((resolve, reject) => {
    child.once('close', (code) => {
      try {
        resolve({ code, report: JSON.parse(output) as Report });
      } catch {
        reject(new Error(`the drill ${name} ended with ${code} and said: ${output.slice(0, 1000)}`));
      }
    });
  });
}

describe('A drill passes:', () => {
  it.each([
    'runner-kill',
    'runner-hang',
    'poison',
    'overload-10x',
    'slow-device',
    'device-loss',
    'memory-leak',
    'disk-full',
    'model-corrupt',
    'client-flood',
    'restart-under-load',
  ])(
    '%s',
    async (name) => {
      const { code, report } = await drill(name);
      expect(report.checks.filter(({ passed }) => !passed)).toEqual([]);
      expect({ code, passed: report.passed }).toEqual({ code: 0, passed: true });
      expect(report.requests).toBeGreaterThan(100);
    },
    LIMIT_MS,
  );
});

it(
  'A drill that finds something fails, with exit code 1 and what was found',
  async () => {
    // No time is left in which the leak could be seen.
    const { code, report } = await drill('memory-leak', ['--duration', '1500ms']);
    expect({ code, passed: report.passed }).toEqual({ code: 1, passed: false });
    const failed = report.checks.filter(({ passed }) => !passed).map(({ what }) => what);
    expect(failed).toEqual(['a leaking runner is replaced']);
  },
  LIMIT_MS,
);
