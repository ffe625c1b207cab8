import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { EXIT } from '../exit-code.ts';
import { Failure } from '../failure.ts';

const START_LIMIT_MS = 60_000;
const STOP_LIMIT_MS = 40_000;
/** Lines of its log that are kept to explain a failure. */
const KEPT_LINES = 50;
/** The sources in a clone, what was built from them in a package. */
const MAIN = join(import.meta.dirname, '..', import.meta.url.endsWith('.ts') ? 'main.ts' : 'main.js');

export interface OwnServerOptions {
  /** Where it runs, so that no configuration of the user's is found. */
  readonly cwd: string;
  readonly models: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly lameDuckMs: number;
}

/** A server of the drill's own, in a process of its own, on any free ports. */
export class OwnServer {
  readonly url: string;
  readonly adminUrl: string;
  readonly pid: number;
  readonly exited: Promise<number | null>;
  readonly #child: ChildProcess;
  readonly #log: ServerLog;

  private constructor(
    child: ChildProcess,
    log: ServerLog,
    ready: ReadyEvent,
    exited: Promise<number | null>,
  ) {
    this.#child = child;
    this.#log = log;
    this.url = ready.http;
    this.adminUrl = ready.admin;
    this.pid = ready.pid;
    this.exited = exited;
  }

  static async start(options: OwnServerOptions): Promise<OwnServer> {
    const { cwd, models, lameDuckMs } = options;
    const flags = [
      'serve',
      models,
      '--port',
      '0',
      '--admin-port',
      '0',
      '--grpc-port',
      '0',
      '--drills',
      '--json',
    ];
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, ...flags], {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...foreignVariables(options.environment),
        GIMBAL_DRAIN_LAME_DUCK_MS: String(lameDuckMs),
        GIMBAL_MODELS_SETTLE_MS: '200',
        // A drill that is killed leaves no server behind.
        GIMBAL_END_WITH_PARENT: String(process.pid),
      },
    });
    const log = new ServerLog(child);
    const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
    const ready = await readyEvent(child, exited);
    if (ready) return new OwnServer(child, log, ready, exited);
    child.kill('SIGKILL');
    throw new Failure(EXIT.failure, "Cannot start the drill's server", {
      expected: `a server that is ready within ${START_LIMIT_MS / 1000} s`,
      findings: log.latest.slice(-5),
    });
  }

  /** Lines that it has logged so far. */
  get logLines(): number {
    return this.#log.count;
  }

  /** Its last words. */
  get log(): readonly string[] {
    return this.#log.latest;
  }

  /** Resident memory of the host process; undefined where it can't be read. */
  residentBytes(): number | undefined {
    try {
      const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.pid}/status`, 'latin1'))?.[1];
      return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
    } catch {
      return undefined;
    }
  }

  /** Drains; gives the exit code, null when it had to be killed. */
  async stop(): Promise<number | null> {
    const limit = setTimeout(() => this.#child.kill('SIGKILL'), STOP_LIMIT_MS);
    this.#child.kill('SIGTERM');
    const code = await this.exited;
    clearTimeout(limit);
    return code;
  }
}

interface ReadyEvent {
  readonly http: string;
  readonly admin: string;
  readonly pid: number;
}

class ServerLog {
  count = 0;
  latest: string[] = [];

  constructor(child: ChildProcess) {
    if (!child.stderr) return;
    createInterface({ input: child.stderr }).on('line', (line) => {
      this.count += 1;
      // Lines of requests say nothing that the drill has not seen itself.
      if (line.includes('"request_id"')) return;
      this.latest.push(line);
      if (this.latest.length > 2 * KEPT_LINES) this.latest = this.latest.slice(-KEPT_LINES);
    });
  }
}

/** Undefined when it ends, or is not ready in time. */
function readyEvent(child: ChildProcess, exited: Promise<unknown>): Promise<ReadyEvent | undefined> {
  return new Promise((resolve) => {
    const limit = setTimeout(() => resolve(undefined), START_LIMIT_MS);
    const end = (event: ReadyEvent | undefined): void => {
      clearTimeout(limit);
      resolve(event);
    };
    void exited.then(() => end(undefined));
    if (!child.stdout) return;
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (!line.startsWith('{')) return;
      const event = JSON.parse(line) as ReadyEvent & { event?: string };
      if (event.event === 'ready') end(event);
    });
  });
}

/** The user's own settings of a server are not for this one. */
function foreignVariables(
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('GIMBAL_')));
}

/** Whether a process exists, and is no zombie, which only waits for somebody to read its status. */
export function isRunning(pid: number): boolean {
  if (existsSync('/proc/self/stat')) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      return !stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z');
    } catch {
      return false;
    }
  }
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
