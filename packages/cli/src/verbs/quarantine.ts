import type { QuarantinedInput } from '@gimbal/core';
import type { Command } from 'commander';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { durationMs } from '../flag-value.ts';
import { ServerClient, serverUrl } from '../server-client.ts';
import type { Verb, VerbContext } from '../verb.ts';

const USUAL_ADMIN_URL = 'http://127.0.0.1:8002';
const USUAL_TIMEOUT_MS = 10_000;
/** Enough of a digest to name one of a thousand. */
const SHOWN_DIGITS = 12;

interface Options {
  readonly json: boolean;
  readonly adminUrl?: string;
  readonly timeout: number;
}

export const quarantine: Verb = {
  define(command: Command, run) {
    const list = command.command('list').description('inputs that are refused because they crashed a model');
    withFlags(list).action((options: Options) =>
      run((context) => show(options, context, undefined), options),
    );
    const release = command
      .command('release')
      .description('take an input again')
      .argument('<fingerprint>', 'its first digits are enough');
    withFlags(release).action((fingerprint: string, options: Options) =>
      run((context) => show(options, context, fingerprint), options),
    );
  },
};

function withFlags(command: Command): Command {
  return command
    .option(
      '--admin-url <url>',
      `admin address of the server (default: GIMBAL_ADMIN_URL, else ${USUAL_ADMIN_URL})`,
    )
    .option('--timeout <duration>', 'the longest that the server may take', durationMs, USUAL_TIMEOUT_MS)
    .option('--json', 'print one JSON document', false);
}

async function show(options: Options, context: VerbContext, released: string | undefined): Promise<ExitCode> {
  const url = options.adminUrl ?? (context.environment.GIMBAL_ADMIN_URL || USUAL_ADMIN_URL);
  const client = new ServerClient(serverUrl(url, context.environment), options.timeout);
  const { body } = await client.request(
    released === undefined
      ? { method: 'GET', path: '/admin/v1/quarantine' }
      : { method: 'POST', path: `/admin/v1/quarantine/${encodeURIComponent(released)}/release` },
  );
  const terminal = context.terminal(options);
  if (options.json) {
    terminal.printJson(body);
    return EXIT.ok;
  }
  const { inputs } = body as { inputs: readonly QuarantinedInput[] };
  if (released !== undefined) terminal.print(`Released ${released}`);
  if (inputs.length === 0) terminal.print('No input is in quarantine');
  for (const { fingerprint, model, version, hits, ageMs, expiresInMs, because } of inputs) {
    const age = `${Math.round(ageMs / 60_000)} min ago, ${Math.round(expiresInMs / 60_000)} min more`;
    terminal.print(
      `${fingerprint.slice(0, SHOWN_DIGITS)}  ${model} ${version}  refused ${hits} times  ${age}`,
    );
    terminal.print(`  ${because}`);
  }
  return EXIT.ok;
}
