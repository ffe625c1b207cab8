import { Argument, type Command } from 'commander';
import { completionScript, SHELLS, type Shell } from '../completion-script.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { Verb } from '../verb.ts';

export const completion: Verb = {
  define(command: Command, run) {
    command
      .addArgument(new Argument('<shell>', 'the shell to complete in').choices(SHELLS))
      .action((shell: Shell) =>
        run(
          async (context) => {
            // Loaded here: the program's own table names this verb.
            const { describeProgram } = await import('../program.ts');
            context
              .terminal({ json: false })
              .print(completionScript(shell, await describeProgram(context)).trimEnd());
            return EXIT.ok as ExitCode;
          },
          { json: false },
        ),
      );
  },
};
