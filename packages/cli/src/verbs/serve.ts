import type { Host } from '@gimbal/server';
import type { Command } from 'commander';
import { loadConfiguration } from '../configuration-file.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { Failure } from '../failure.ts';
import { noModels, requireModelsPath, shownPath } from '../models-path.ts';
import { addConfigurationFlags, configurationFlags } from '../serve/configuration-flags.ts';
import { EventScreen } from '../serve/event-screen.ts';
import type { Terminal } from '../terminal.ts';
import type { Verb, VerbContext } from '../verb.ts';

/** Two signals within this time are one that came on two ways. */
const SAME_SIGNAL_MS = 500;
const PARENT_WATCH_MS = 500;
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** A server's stderr is its log: people at a terminal get pages, collectors one JSON object a line. */
const STDERR = { stderr: 'auto' } as const;

interface Options {
  readonly json: boolean;
  readonly jsonl: boolean;
  readonly config?: string;
  readonly [flag: string]: unknown;
}

export const serve: Verb = {
  define(command: Command, run) {
    command
      .argument('[path]', 'a model repository, a model, or an .onnx file (default: models.path)')
      .option(
        '--config <file>',
        'configuration file (default: GIMBAL_CONFIG, else gimbal.yaml when it is there)',
      )
      .option('--json', 'print events on stdout, one JSON object a line', false)
      .option('--jsonl', 'the same as --json', false);
    addConfigurationFlags(command);
    command.action((path: string | undefined, options: Options) =>
      run((context) => serveModels(path, options, context), { ...formOf(options), ...STDERR }),
    );
  },
};

async function serveModels(
  path: string | undefined,
  options: Options,
  context: VerbContext,
): Promise<ExitCode> {
  process.title = 'gimbal-host';
  const { configuration, notes } = await loadConfiguration({
    cwd: context.cwd,
    environment: context.environment,
    file: options.config,
    flags: {
      ...configurationFlags(options),
      ...(path === undefined ? {} : { 'models.path': { name: 'the path', text: path } }),
    },
  });
  const { format } = configuration.log;
  const stderr = format === 'pretty' ? 'text' : format === 'json' ? 'lines' : 'auto';
  const terminal = context.terminal({ ...formOf(options), stderr });
  for (const note of notes) terminal.say(`note: ${note}`);
  const place = { path: configuration.models.path, cwd: context.cwd, verb: 'serve' } as const;
  requireModelsPath(place);
  // Loaded late: everything that serves is in there, and `--help` must not wait for it.
  const { startHost } = await import('@gimbal/server');
  const { fewFilesNote } = await import('../doctor/machine.ts');
  const fewFiles = fewFilesNote();
  if (fewFiles !== undefined) terminal.say(`note: ${fewFiles}`);
  let host: Host | undefined;
  const screen = new EventScreen(terminal, context, () => host);
  const starting = startHost({
    configuration,
    version: context.version,
    colours: terminal.humanColours.isColorSupported,
    onEvent: (event) => {
      screen.show(event);
      if (event.event === 'unusable') stopping.giveUp();
    },
  });
  // A signal while models load waits for the host, which then stops at once; a second one hurries it.
  const stopping = new Stopping(terminal, () => starting.then((started) => started.stop()));
  stopping.listen();
  if (context.environment.GIMBAL_END_WITH_PARENT === String(process.ppid)) stopping.endWithParent();
  try {
    host = await starting;
    screen.hostStarted();
    const exitCode = await stopping.finished;
    if (screen.unusable === undefined) return exitCode;
    throw screen.hasModels ? unusable(screen.unusable, shownPath(place.path, place.cwd)) : noModels(place);
  } catch (error) {
    throw startFailure(error, shownPath(place.path, place.cwd));
  } finally {
    stopping.unlisten();
  }
}

/** Signals and bugs, which only the edge of the process may see: both drain, and bugs end with exit code 1. */
class Stopping {
  readonly finished: Promise<ExitCode>;
  readonly #terminal: Terminal;
  readonly #stop: () => Promise<void>;
  #finish: (exitCode: ExitCode) => void = () => {};
  #isBroken = false;
  #exitCode: ExitCode = EXIT.ok;
  #signal: NodeJS.Signals | undefined;
  #signalledAt = Number.NEGATIVE_INFINITY;

  constructor(terminal: Terminal, stop: () => Promise<void>) {
    this.#terminal = terminal;
    this.#stop = stop;
    this.finished = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  listen(): void {
    for (const signal of STOP_SIGNALS) process.on(signal, this.#onSignal);
    process.on('uncaughtException', this.#onBug);
    process.on('unhandledRejection', this.#onBug);
  }

  unlisten(): void {
    for (const signal of STOP_SIGNALS) process.off(signal, this.#onSignal);
    process.off('uncaughtException', this.#onBug);
    process.off('unhandledRejection', this.#onBug);
  }

  /** The script that started us passes signals on; when it was killed itself, nobody else tells us. */
  endWithParent(): void {
    const parent = process.ppid;
    const watch = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(watch);
      this.#end();
    }, PARENT_WATCH_MS);
    watch.unref();
  }

  /** Not one model can be served: there is nothing to stay up for. */
  giveUp(): void {
    this.#exitCode = EXIT.invalid;
    this.#stop().catch(() => {});
    this.#end();
  }

  readonly #onSignal = (signal: NodeJS.Signals): void => {
    // A signal to the whole process group arrives twice, from the terminal and relayed by npm's script: it is one.
    const now = performance.now();
    const isEcho = signal === this.#signal && now - this.#signalledAt < SAME_SIGNAL_MS;
    this.#signal = signal;
    this.#signalledAt = now;
    if (!isEcho) this.#end();
  };

  #end(): void {
    this.#stop().then(
      () => this.#finish(this.#isBroken ? EXIT.failure : this.#exitCode),
      () => this.#finish(EXIT.failure),
    );
  }

  readonly #onBug = (error: unknown): void => {
    this.#terminal.say(error instanceof Error ? (error.stack ?? error.message) : String(error));
    // A second bug while draining from the first: there is nothing left to save.
    if (this.#isBroken) process.exit(EXIT.failure);
    this.#isBroken = true;
    this.#end();
  };
}

function formOf({ json, jsonl }: Options): { json: boolean; jsonl: boolean } {
  // Its events are lines in any case.
  return { json, jsonl: json || jsonl };
}

function unusable(reason: string, where: string): Failure {
  return new Failure(EXIT.invalid, reason, {
    where,
    expected: 'at least one model that can be loaded',
    got: 'none',
    fix: `gimbal check ${where}`,
  });
}

function startFailure(error: unknown, modelsPath: string): unknown {
  const { code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (code === 'EADDRINUSE' || code === 'EACCES' || code === 'EADDRNOTAVAIL') {
    return new Failure(EXIT.failure, "Cannot listen: the address can't be taken", {
      where: `${address ?? ''}:${port ?? ''}`,
      expected: 'a free port of this machine',
      got: code,
      fix: 'gimbal doctor, or --port 0 --admin-port 0 for any free ports',
    });
  }
  if (code === 'MODEL_UNAVAILABLE') {
    return new Failure(EXIT.invalid, (error as Error).message, {
      where: modelsPath,
      fix: 'gimbal check, or gimbal init',
    });
  }
  return error;
}
