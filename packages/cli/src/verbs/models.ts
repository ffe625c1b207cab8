import type { Command } from 'commander';
import { confirm } from '../confirmation.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { durationMs } from '../flag-value.ts';
import { addJsonFlags, type JsonFlags } from '../json-flags.ts';
import { type ModelDetailDocument, printModelPage } from '../model-page.ts';
import { printModelTable } from '../model-table.ts';
import { modelsOf, ServerClient, serverUrl } from '../server-client.ts';
import type { RunVerb, Verb, VerbContext } from '../verb.ts';

const USUAL_TIMEOUT_MS = 120_000;

interface Options extends JsonFlags {
  readonly url?: string;
  readonly timeout: number;
}

interface ChangeOptions extends Options {
  readonly yes: boolean;
  readonly dryRun: boolean;
}

export const models: Verb = {
  define(command: Command, run) {
    defineList(command, run);
    defineShow(command, run);
    defineChange(command, run, {
      verb: 'load',
      summary: 'load a model of the repository, or load it again',
      asks: false,
    });
    defineChange(command, run, {
      verb: 'unload',
      summary: 'stop serving a model; requests inside it finish',
      asks: true,
    });
  },
};

function defineList(command: Command, run: RunVerb): void {
  common(command.command('list').alias('ls').summary('all models with their states'))
    .description('All models with their versions, states and tasks')
    .action((options: Options) =>
      run(async (context) => {
        const terminal = context.terminal(options);
        const { body } = await clientOf(options, context).request({ method: 'GET', path: '/v1/models' });
        const listed = modelsOf(body);
        if (terminal.isJson) terminal.printJsonList(listed, body);
        else printModelTable(terminal, listed);
        return EXIT.ok as ExitCode;
      }, options),
    );
}

function defineShow(command: Command, run: RunVerb): void {
  common(command.command('show').argument('<model>', 'the model').summary('one model in full'))
    .description('One model: what it takes and gives, its limits, its measured cost')
    .action((model: string, options: Options) =>
      run(async (context) => {
        const terminal = context.terminal(options);
        const path = `/v1/models/${encodeURIComponent(model)}`;
        const { body } = await clientOf(options, context).requestOfModel(model, { method: 'GET', path });
        if (terminal.isJson) terminal.printJsonList([body], body);
        else printModelPage(terminal, body as ModelDetailDocument);
        return EXIT.ok as ExitCode;
      }, options),
    );
}

interface Change {
  readonly verb: 'load' | 'unload';
  readonly summary: string;
  /** Whether a person is asked first. */
  readonly asks: boolean;
}

function defineChange(command: Command, run: RunVerb, change: Change): void {
  common(command.command(change.verb).argument('<model>', 'the model').summary(change.summary))
    .description(change.summary)
    .option('--yes', 'do not ask', false)
    .option('--dry-run', 'only say what would happen', false)
    .action((model: string, options: ChangeOptions) =>
      run((context) => changeModel(model, { change, options }, context), options),
    );
}

async function changeModel(
  model: string,
  { change, options }: { change: Change; options: ChangeOptions },
  context: VerbContext,
): Promise<ExitCode> {
  const terminal = context.terminal(options);
  const client = clientOf(options, context);
  const what = `${change.verb} ${model} on ${client.url}`;
  if (options.dryRun) {
    // The name is checked all the same: a dry run that would fail must fail.
    await client.requestOfModel(model, { method: 'GET', path: `/v1/models/${encodeURIComponent(model)}` });
    terminal.say(`Would ${what}`);
    if (terminal.isJson) terminal.printJson({ model, [change.verb]: false, dry_run: true });
    return EXIT.ok;
  }
  if (change.asks)
    await confirm(terminal, { what: `This will ${what}`, yes: options.yes, stdin: context.stdin });
  const path = `/v2/repository/models/${encodeURIComponent(model)}/${change.verb}`;
  const work = client.requestOfModel(model, {
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  await terminal.during(change.verb === 'load' ? `Loading ${model}` : `Unloading ${model}`, work);
  if (terminal.isJson) terminal.printJson({ model, [change.verb]: true });
  else
    terminal.say(
      `${terminal.humanColours.green('✓')} ${model} is ${change.verb === 'load' ? 'ready' : 'unloaded'}`,
    );
  return EXIT.ok;
}

function common(command: Command): Command {
  command
    .exitOverride()
    .option('--url <url>', 'address of the server (default: GIMBAL_URL, else http://127.0.0.1:8000)')
    .option('--timeout <duration>', 'the longest that the server may take', durationMs, USUAL_TIMEOUT_MS);
  return addJsonFlags(command, 'a model');
}

function clientOf({ url, timeout }: Options, { environment }: VerbContext): ServerClient {
  return new ServerClient(serverUrl(url, environment), timeout);
}
