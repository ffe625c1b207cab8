import type { Command } from 'commander';

/** The two forms of output for machines. */
export interface JsonFlags {
  readonly json: boolean;
  readonly jsonl: boolean;
}

/** `--json` and `--jsonl`, for verbs that may have several things to tell: `each` says what a line is then. */
export function addJsonFlags(command: Command, each: string): Command {
  return command
    .option('--json', 'print one JSON document', false)
    .option('--jsonl', `print one JSON object a line: ${each}`, false);
}
