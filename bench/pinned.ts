import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** The server's core and the generator's: never the same one. */
export const SERVER_CORE = 0;
export const CLIENT_CORE = 1;

/** Pinning needs `taskset` and two cores; without them the report says "not pinned". */
export const canPin =
  existsSync('/proc/self/status') &&
  availableParallelism() >= 2 &&
  spawnSync('taskset', ['-c', `${SERVER_CORE},${CLIENT_CORE}`, 'true']).status === 0;

/** Starts a program on one core, where the machine allows that. */
export function spawnPinned(
  core: number,
  command: readonly [string, ...string[]],
  options: { stderr: 'inherit' | 'ignore'; env?: Record<string, string> },
): ChildProcess {
  const [program, ...args] = canPin ? ['taskset', '-c', String(core), ...command] : command;
  return spawn(program as string, args, {
    stdio: ['ignore', 'pipe', options.stderr],
    env: { ...process.env, ...options.env },
  });
}

/** Everything a program printed to stdout, once it ended well. */
export function output(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0
        ? resolve(text)
        : reject(new Error(`Cannot finish a measurement: exit code ${code}, expected 0`)),
    );
  });
}
