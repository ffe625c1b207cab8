import { Readable, Writable } from 'node:stream';
import { runProgram } from '../program.ts';
import { Terminal, type TerminalStreams } from '../terminal.ts';
import type { CommandOptions, CommandResult } from './command-line.ts';
import { ROOT } from './command-line.ts';

/** The same as `gimbal` in a process of its own, inside the test's: a hundred times quicker. */
export async function gimbalInProcess(
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const stdout = new Recorder();
  const stderr = new Recorder();
  const stdin = Readable.from(options.input === undefined ? [] : [Buffer.from(options.input)]);
  const environment = options.environment ?? {};
  const streams: TerminalStreams = { stdout, stderr, stdin: {}, environment };
  const exitCode = await runProgram(args, {
    environment,
    cwd: options.cwd ?? ROOT,
    version: '0.0.0',
    stdin,
    output: { stdout, stderr },
    terminal: (terminalOptions) => new Terminal(streams, terminalOptions),
  });
  return { exitCode, stdout: stdout.text, stderr: stderr.text };
}

/** A stream that remembers everything. */
export class Recorder extends Writable {
  text = '';
  readonly isTTY: boolean;

  constructor(isTTY = false) {
    super();
    this.isTTY = isTTY;
  }

  override _write(chunk: Buffer | string, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}
