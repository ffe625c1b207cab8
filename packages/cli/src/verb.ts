import type { Command } from 'commander';
import type { ExitCode } from './exit-code.ts';
import type { Terminal, TerminalOptions } from './terminal.ts';

/** What a verb runs with; everything from outside comes in here, so that tests can replace it. */
export interface VerbContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly version: string;
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  /** For the parser's own words: help on stdout, complaints on stderr. */
  readonly output: { readonly stdout: NodeJS.WritableStream; readonly stderr: NodeJS.WritableStream };
  terminal(options: TerminalOptions): Terminal;
}

/** Defines a verb's arguments and flags; `run` is called by the parser and its result becomes the exit code. */
export interface Verb {
  define(command: Command, run: RunVerb): void;
}

export type RunVerb = (
  action: (context: VerbContext) => Promise<ExitCode>,
  options: TerminalOptions,
) => Promise<void>;
