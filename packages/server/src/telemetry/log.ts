import type { CallRecord, Clock } from '@gimbal/core';
import { type Logger, pino } from 'pino';
import { AccessLine, accessLevel, type LogLevel } from './access-line.ts';
import type { LineSink } from './line-sink.ts';
import { prettyLine } from './pretty-line.ts';
import { redacted, redactedText } from './redaction.ts';

const SEVERITY: Readonly<Record<LogLevel | 'silent', number>> = {
  debug: 20,
  info: 30,
  warn: 40,
  error: 50,
  silent: 100,
};

export interface LogOptions {
  readonly clock: Clock;
  readonly sink: LineSink;
  /** Lines below this are not made. */
  readonly level: LogLevel | 'silent';
  /** Which finished calls get a line: every one, only those that did not end well, or none. */
  readonly access: 'all' | 'failures' | 'none';
  /** For people at a terminal, with or without colours; `json`: one object a line. */
  readonly format: 'json' | 'pretty' | 'pretty-colour';
  readonly serviceName: string;
}

/** Fields of a line besides its message. Secrets are taken out; `err` is an error with its stack and causes. */
export type LogFields = Readonly<Record<string, unknown>>;

/** The log of the server: events through pino, finished calls through a line builder of their own. */
export class Log {
  readonly #clock: Clock;
  readonly #accessLine: AccessLine;
  readonly #pino: Logger;
  readonly #write: (line: string) => void;
  #severity: number;
  #access: LogOptions['access'];

  constructor(options: LogOptions) {
    const { sink, format, clock, serviceName } = options;
    this.#clock = clock;
    this.#severity = SEVERITY[options.level];
    this.#access = options.access;
    this.#accessLine = new AccessLine(serviceName);
    this.#write =
      format === 'json'
        ? (line) => sink.write(line)
        : (line) => sink.write(prettyLine(line, format === 'pretty-colour'));
    this.#pino = pino(
      {
        level: options.level,
        messageKey: 'message',
        base: { 'service.name': serviceName },
        timestamp: () => `,"timestamp":"${new Date(clock.wallTimeMs()).toISOString()}"`,
        formatters: {
          level: (label) => ({ level: label }),
          log: (fields) => redacted(fields) as Record<string, unknown>,
        },
        // Errors are turned into plain objects by `redacted`, which comes first.
        serializers: { err: (error: unknown) => error },
      },
      { write: (line) => this.#write(line) },
    );
  }

  /** Takes effect with the next line: the configuration may change these while the server runs. */
  change(options: Pick<LogOptions, 'level' | 'access'>): void {
    this.#severity = SEVERITY[options.level];
    this.#access = options.access;
    this.#pino.level = options.level;
  }

  debug(message: string, fields: LogFields = {}): void {
    this.#pino.debug(fields, redactedText(message));
  }

  info(message: string, fields: LogFields = {}): void {
    this.#pino.info(fields, redactedText(message));
  }

  warn(message: string, fields: LogFields = {}): void {
    this.#pino.warn(fields, redactedText(message));
  }

  error(message: string, fields: LogFields = {}): void {
    this.#pino.error(fields, redactedText(message));
  }

  /** One line for a finished call. */
  finished(record: CallRecord): void {
    if (this.#access === 'none') return;
    if (this.#access === 'failures' && (record.outcome === 'ok' || record.outcome === 'degraded')) return;
    const level = accessLevel(record);
    if (SEVERITY[level] < this.#severity) return;
    this.#write(this.#accessLine.render(record, level, this.#clock.wallTimeMs()));
  }
}
