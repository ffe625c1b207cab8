import { Command, CommanderError } from 'commander';
import { EXIT, EXIT_HELP, type ExitCode } from './exit-code.ts';
import { Failure, toFailure } from './failure.ts';
import type { RunVerb, Verb, VerbContext } from './verb.ts';

interface VerbEntry {
  readonly name: string;
  readonly summary: string;
  load(): Promise<Verb>;
}

/** In the order of a newcomer's path. A verb's module is loaded only when it is called: `--help` stays quick. */
export const VERBS: readonly VerbEntry[] = [
  {
    name: 'serve',
    summary: 'serve models over HTTP',
    load: async () => (await import('./verbs/serve.ts')).serve,
  },
  {
    name: 'infer',
    summary: 'send one input to a served model and show its answer',
    load: async () => (await import('./verbs/infer.ts')).infer,
  },
  {
    name: 'models',
    summary: 'list, show, load and unload the models of a server',
    load: async () => (await import('./verbs/models.ts')).models,
  },
  {
    name: 'inspect',
    summary: 'show what an .onnx file takes, gives and is made of',
    load: async () => (await import('./verbs/inspect.ts')).inspect,
  },
  {
    name: 'check',
    summary: 'check a model repository without serving it',
    load: async () => (await import('./verbs/check.ts')).check,
  },
  {
    name: 'doctor',
    summary: 'say what works on this machine, and what to do about the rest',
    load: async () => (await import('./verbs/doctor.ts')).doctor,
  },
  {
    name: 'why',
    summary: 'tell what was decided about a request, in plain words',
    load: async () => (await import('./verbs/why.ts')).why,
  },
  {
    name: 'ladder',
    summary: 'show and pin the degradation ladder of a model',
    load: async () => (await import('./verbs/ladder.ts')).ladder,
  },
  {
    name: 'quarantine',
    summary: 'inputs that are refused because they crashed a model',
    load: async () => (await import('./verbs/quarantine.ts')).quarantine,
  },
  {
    name: 'devices',
    summary: 'show the GPUs of a server, or of this machine',
    load: async () => (await import('./verbs/devices.ts')).devices,
  },
  {
    name: 'drill',
    summary: 'break something on purpose under load, and say whether clients noticed',
    load: async () => (await import('./verbs/drill.ts')).drill,
  },
  {
    name: 'simulate',
    summary: 'show what a load would do to a model, on a virtual clock',
    load: async () => (await import('./verbs/simulate.ts')).simulate,
  },
  {
    name: 'init',
    summary: 'make a starter folder with a configuration and a tiny model',
    load: async () => (await import('./verbs/init.ts')).init,
  },
  {
    name: 'generate',
    summary: 'write files made from the served models',
    load: async () => (await import('./verbs/generate.ts')).generate,
  },
  {
    name: 'completion',
    summary: 'print a completion script for bash, zsh or fish',
    load: async () => (await import('./verbs/completion.ts')).completion,
  },
];

/** Parses the command line, runs the verb and gives the exit code. Never throws. */
export async function runProgram(args: readonly string[], context: VerbContext): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.ok;
  const run: RunVerb = async (action, options) => {
    try {
      exitCode = await action(context);
    } catch (error) {
      const failure = toFailure(error);
      context.terminal(options).fail(failure);
      exitCode = failure.exitCode;
    }
  };
  try {
    const program = await buildProgram(args, { run, context });
    await program.parseAsync([...args], { from: 'user' });
  } catch (error) {
    const failure = error instanceof CommanderError ? misuse(error, args) : toFailure(error);
    if (failure === undefined)
      return error instanceof CommanderError && error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    // The parser gave up before it knew of these; what `serve` says goes to a log even then.
    const [json, jsonl] = [args.includes('--json'), args.includes('--jsonl')];
    const stderr = calledVerb(args) === 'serve' ? 'auto' : 'text';
    context.terminal({ json, jsonl, stderr }).fail(failure);
    return failure.exitCode;
  }
  return exitCode;
}

/** What the parser complains of, in the form of all failures; undefined when it has shown its help or version. */
function misuse(error: CommanderError, args: readonly string[]): Failure | undefined {
  if (error.exitCode === 0 || error.code === 'commander.help') return undefined;
  const [what = '', ...more] = error.message.replace(/^error: /, '').split('\n');
  const near = more.join(' ').match(/\(Did you mean (.+)\?\)/i)?.[1];
  const verb = VERBS.find(({ name }) => name === calledVerb(args))?.name;
  const help = verb === undefined ? 'gimbal --help' : `gimbal ${verb} --help`;
  return new Failure(EXIT.usage, `Cannot run ${verb === undefined ? 'gimbal' : `gimbal ${verb}`}: ${what}`, {
    fix: near === undefined ? help : `did you mean ${near}? see ${help}`,
  });
}

/** The whole command tree, for completion scripts. */
export async function describeProgram(context: VerbContext): Promise<Command> {
  const program = emptyProgram(context);
  for (const { name, summary, load } of VERBS) {
    const verb = await load();
    verb.define(program.command(name).summary(summary).description(summary), async () => {});
  }
  return program;
}

async function buildProgram(
  args: readonly string[],
  { run, context }: { run: RunVerb; context: VerbContext },
): Promise<Command> {
  const program = emptyProgram(context);
  const called = calledVerb(args);
  for (const { name, summary, load } of VERBS) {
    const command = program.command(name).summary(summary).description(capital(summary));
    command.exitOverride();
    if (name === called) (await load()).define(command, run);
  }
  return program;
}

function emptyProgram(context: VerbContext): Command {
  const program = new Command('gimbal');
  program
    .description('Gimbal, the resilient model server for TypeScript')
    .version(context.version, '-v, --version', 'print the version')
    .showSuggestionAfterError(true)
    .configureOutput({
      writeOut: (text) => context.output.stdout.write(text),
      writeErr: (text) => context.output.stderr.write(text),
      // Said by `misuse`.
      outputError: () => {},
    })
    .helpCommand('help [verb]', 'show what a verb takes')
    .addHelpText('after', `\n${EXIT_HELP}\nStart here: gimbal init demo && gimbal serve demo/models`)
    .exitOverride();
  return program;
}

/** `gimbal serve …` and `gimbal help serve` both need serve's flags. */
function calledVerb(args: readonly string[]): string | undefined {
  const [first, second] = args.filter((arg) => !arg.startsWith('-'));
  return first === 'help' ? second : first;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
