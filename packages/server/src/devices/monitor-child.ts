import { type ChildProcess, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MAX_FRAME_LENGTH, type MonitorFrame, readFrame } from './monitor-frame.ts';
import type { MonitorOptions } from './monitor-options.ts';

/** What must not be inherited: options meant for the host, such as its inspector's port. */
const HOST_ONLY_VARIABLES = new Set(['NODE_OPTIONS', 'NODE_V8_COVERAGE', 'NODE_CHANNEL_FD']);
/** Longest end of what it printed on stderr that is kept, as the reason of its end. */
const MAX_LAST_WORDS = 1024;

const RUNS_FROM_SOURCE = import.meta.url.endsWith('.ts');
/** The monitor's program; tests start others in its place. */
export const MONITOR_MAIN = fileURLToPath(
  new URL(`./monitor-main.${RUNS_FROM_SOURCE ? 'ts' : 'js'}`, import.meta.url),
);

export interface MonitorEvents {
  onFrame(frame: MonitorFrame): void;
  /** It has ended, or could not be started. Called once; `code` is undefined where a signal ended it. */
  onExit(code: number | undefined, reason: string): void;
}

/** A monitor's process. */
export class MonitorChild {
  readonly #events: MonitorEvents;
  readonly #child: ChildProcess | undefined;
  #partial = '';
  #lastWords = '';
  #broken: string | undefined;
  #ended = false;

  constructor(program: string, options: MonitorOptions, events: MonitorEvents) {
    this.#events = events;
    const child = trySpawn(program, options);
    if (child instanceof Error) {
      void Promise.resolve().then(() => this.#end(undefined, notStarted(child)));
      return;
    }
    this.#child = child;
    child.on('error', (error) => {
      // Errors of a running process are about signals that came too late.
      if (child.pid === undefined) this.#end(undefined, notStarted(error));
    });
    // `close` comes after everything that it wrote was read.
    child.on('close', (code, signal) => {
      const ending = signal === null ? `exit code ${code}` : `signal ${signal}`;
      this.#end(
        code ?? undefined,
        this.#broken ?? [ending, this.#lastWords.trim()].filter(Boolean).join(': '),
      );
    });
    child.stdin?.on('error', () => {});
    child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#onText(text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#lastWords = (this.#lastWords + text).slice(-MAX_LAST_WORDS);
    });
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Asks it to leave. */
  leave(): void {
    this.#child?.stdin?.end();
  }

  kill(): void {
    this.#child?.kill('SIGKILL');
  }

  #onText(text: string): void {
    if (this.#broken !== undefined) return;
    let from = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      const line = this.#partial + text.slice(from, end);
      this.#partial = '';
      from = end + 1;
      const frame = readFrame(line);
      if (!frame) {
        this.#break();
        return;
      }
      this.#events.onFrame(frame);
    }
    this.#partial += text.slice(from);
    if (this.#partial.length > MAX_FRAME_LENGTH) this.#break();
  }

  /** A monitor that does not speak our language can't be believed in anything. */
  #break(): void {
    this.#broken = 'it broke its protocol and was ended';
    this.#partial = '';
    this.kill();
  }

  #end(code: number | undefined, reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#events.onExit(code, reason);
  }
}

function trySpawn(program: string, options: MonitorOptions): ChildProcess | Error {
  try {
    const args = ['--disable-warning=ExperimentalWarning', program, JSON.stringify(options)];
    return spawn(process.execPath, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: monitorEnvironment(),
      windowsHide: true,
    });
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function monitorEnvironment(): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !HOST_ONLY_VARIABLES.has(name));
  const environment: NodeJS.ProcessEnv = Object.fromEntries(inherited);
  // Compiling TypeScript again takes half of its start.
  if (RUNS_FROM_SOURCE) environment.NODE_COMPILE_CACHE ??= join(tmpdir(), 'node-compile-cache');
  return environment;
}

function notStarted(error: Error): string {
  return `it could not be started: ${(error as NodeJS.ErrnoException).code ?? 'unknown reason'}`;
}
