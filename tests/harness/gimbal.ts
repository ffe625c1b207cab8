import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export const ROOT = join(import.meta.dirname, '..', '..');
export const FIXTURES = join(ROOT, 'tests', 'fixtures');
const START_LIMIT_MS = 90_000;
const STOP_LIMIT_MS = 60_000;
/** Log lines kept for a failing test to look at. */
const MAX_LOG_LINES = 5_000;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A real `gimbal serve` in a process of its own, as users start it. */
export class GimbalUnderTest {
  readonly http: string;
  readonly admin: string;
  readonly pid: number;
  readonly exited: Promise<Exit>;
  readonly events: readonly Record<string, unknown>[];
  readonly log: readonly string[];
  readonly #child: ChildProcess;

  private constructor(
    child: ChildProcess,
    ready: { http: string; admin: string; pid: number },
    seen: { exited: Promise<Exit>; events: Record<string, unknown>[]; log: string[] },
  ) {
    this.#child = child;
    this.http = ready.http;
    this.admin = ready.admin;
    this.pid = ready.pid;
    this.exited = seen.exited;
    this.events = seen.events;
    this.log = seen.log;
  }

  get port(): number {
    return Number(new URL(this.http).port);
  }

  static async start(
    models: string,
    options: { flags?: string[]; env?: Record<string, string> } = {},
  ): Promise<GimbalUnderTest> {
    const flags = [
      'serve',
      models,
      '--port',
      '0',
      '--admin-port',
      '0',
      '--grpc-port',
      '0',
      '--json',
      ...(options.flags ?? []),
    ];
    const child = spawn(process.execPath, [join(ROOT, 'packages/cli/src/main.ts'), ...flags], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...options.env },
    });
    const seen = watch(child);
    const ready = await new Promise<{ http: string; admin: string; pid: number }>((resolve, reject) => {
      const limit = setTimeout(
        () => reject(new Error(`not ready in ${START_LIMIT_MS} ms:\n${seen.log.join('\n')}`)),
        START_LIMIT_MS,
      );
      seen.onEvent = (event) => {
        if (event.event !== 'ready') return;
        clearTimeout(limit);
        resolve(event as unknown as { http: string; admin: string; pid: number });
      };
      void seen.exited.then((exit) => {
        clearTimeout(limit);
        reject(new Error(`ended before it was ready: ${JSON.stringify(exit)}\n${seen.log.join('\n')}`));
      });
    });
    return new GimbalUnderTest(child, ready, seen);
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Orderly end, hurried: SIGTERM twice; SIGKILL when that takes too long. */
  async stop(): Promise<Exit> {
    const limit = setTimeout(() => this.#child.kill('SIGKILL'), STOP_LIMIT_MS);
    this.#child.kill('SIGTERM');
    setTimeout(() => this.#child.kill('SIGTERM'), 700).unref();
    const exit = await this.exited;
    clearTimeout(limit);
    return exit;
  }

  async runners(): Promise<
    { pid: number; model: string; version: string; variant: string; state: string; restarts: number }[]
  > {
    const response = await fetch(`${this.admin}/admin/v1/runners`);
    return ((await response.json()) as { runners: never[] }).runners;
  }

  /** Value of a metric line whose name and labels all match; 0 when there is none. Several lines are summed. */
  async metric(name: string, labels: Record<string, string> = {}): Promise<number> {
    const text = await (await fetch(`${this.admin}/metrics`)).text();
    return text
      .split('\n')
      .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
      .filter((line) => Object.entries(labels).every(([key, value]) => line.includes(`${key}="${value}"`)))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  }
}

interface Watched {
  readonly exited: Promise<Exit>;
  readonly events: Record<string, unknown>[];
  readonly log: string[];
  onEvent: (event: Record<string, unknown>) => void;
}

function watch(child: ChildProcess): Watched {
  const seen: Watched = {
    exited: new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal }))),
    events: [],
    log: [],
    onEvent: () => {},
  };
  if (child.stdout) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (!line.startsWith('{')) return;
      const event = JSON.parse(line) as Record<string, unknown>;
      if ('event' in event) {
        seen.events.push(event);
        seen.onEvent(event);
      }
    });
  }
  if (child.stderr) {
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (seen.log.length < MAX_LOG_LINES) seen.log.push(line);
    });
  }
  return seen;
}

/** Processes alive whose title begins so (Linux). */
export function processesTitled(prefix: string): number[] {
  if (!existsSync('/proc')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith(prefix);
      } catch {
        return false;
      }
    });
}

/** Waits until a condition holds; the only allowed way to wait in system tests. */
export async function eventually(
  what: string,
  condition: () => Promise<boolean> | boolean,
  limitMs = 20_000,
): Promise<void> {
  const end = performance.now() + limitMs;
  let lastError: unknown;
  while (performance.now() < end) {
    try {
      if (await condition()) return;
    } catch (error) {
      lastError = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`${what}: not so within ${limitMs} ms${lastError ? ` (${String(lastError)})` : ''}`);
}
