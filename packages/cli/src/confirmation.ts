import { createInterface } from 'node:readline/promises';
import { EXIT } from './exit-code.ts';
import { Failure } from './failure.ts';
import type { Terminal } from './terminal.ts';

/** Asks before something is taken away; without a person to ask, `--yes` must have been given. */
export async function confirm(
  terminal: Terminal,
  { what, yes, stdin }: { what: string; yes: boolean; stdin: NodeJS.ReadableStream },
): Promise<void> {
  if (yes) return;
  if (!terminal.isInteractive) {
    throw new Failure(EXIT.usage, `Cannot go on without a yes: ${what}`, {
      expected: '--yes, since nobody is there to ask',
      got: 'no --yes',
      fix: 'add --yes',
    });
  }
  const lines = createInterface({ input: stdin, output: process.stderr });
  try {
    const answer = await lines.question(`${what}. Go on? [y/N] `);
    if (/^y(es)?$/i.test(answer.trim())) return;
  } finally {
    lines.close();
  }
  throw new Failure(EXIT.failure, 'Nothing was done: the answer was no');
}
