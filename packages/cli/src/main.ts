import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runProgram } from './program.ts';
import { Terminal, type TerminalStreams } from './terminal.ts';

// A reader that closes the pipe early (`| head`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

const streams: TerminalStreams = {
  stdout: process.stdout,
  stderr: process.stderr,
  stdin: process.stdin,
  environment: process.env,
};

process.exitCode = await runProgram(process.argv.slice(2), {
  environment: process.env,
  cwd: process.cwd(),
  version: readVersion(),
  stdin: process.stdin,
  output: process,
  terminal: (options) => new Terminal(streams, options),
});

function readVersion(): string {
  const manifest = readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
