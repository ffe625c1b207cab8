import type { LadderReport } from '@gimbal/core';
import type { Command } from 'commander';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { durationMs } from '../flag-value.ts';
import { ServerClient, serverUrl } from '../server-client.ts';
import type { Terminal } from '../terminal.ts';
import type { RunVerb, Verb, VerbContext } from '../verb.ts';

const USUAL_ADMIN_URL = 'http://127.0.0.1:8002';
const USUAL_TIMEOUT_MS = 10_000;
const SHARE_CELLS = 20;
const HISTORY_LINES = 8;

interface Options {
  readonly json: boolean;
  readonly adminUrl?: string;
  readonly timeout: number;
  readonly for?: number;
}

export const ladder: Verb = {
  define(command: Command, run) {
    const show = command
      .command('show')
      .description('show the rungs of a model, their shares and why')
      .argument('<model>');
    withFlags(show).action((model: string, options: Options) =>
      ask(run, { model, options, path: '', body: undefined }),
    );
    const pin = command
      .command('pin')
      .description('hold all requests that take any variant on one rung')
      .argument('<model>')
      .argument('<rung>', 'number of the rung, or name of the variant')
      .option('--for <duration>', 'let go after this time (default: until released)', durationMs);
    withFlags(pin).action((model: string, rung: string, options: Options) => {
      const which = /^\d+$/.test(rung) ? { rung: Number(rung) } : { variant: rung };
      const body = { ...which, ...(options.for === undefined ? {} : { for_ms: options.for }) };
      return ask(run, { model, options, path: '/pin', body });
    });
    const release = command
      .command('release')
      .description('let the ladder find its rung again')
      .argument('<model>');
    withFlags(release).action((model: string, options: Options) =>
      ask(run, { model, options, path: '/release', body: {} }),
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

interface Asked {
  readonly model: string;
  readonly options: Options;
  readonly path: string;
  /** Undefined: only to be shown. */
  readonly body: object | undefined;
}

function ask(run: RunVerb, asked: Asked): Promise<void> {
  return run((context) => answer(asked, context), asked.options);
}

async function answer({ model, options, path, body }: Asked, context: VerbContext): Promise<ExitCode> {
  const url = options.adminUrl ?? (context.environment.GIMBAL_ADMIN_URL || USUAL_ADMIN_URL);
  const client = new ServerClient(serverUrl(url, context.environment), options.timeout);
  const { body: document } = await client.request({
    method: body === undefined ? 'GET' : 'POST',
    path: `/admin/v1/models/${encodeURIComponent(model)}/ladder${path}`,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  const terminal = context.terminal(options);
  if (options.json) terminal.printJson(document);
  else for (const one of (document as { ladders: readonly LadderReport[] }).ladders) print(terminal, one);
  return EXIT.ok;
}

function print(terminal: Terminal, report: LadderReport): void {
  const { bold, dim, yellow } = terminal.colours;
  const { pinned } = report;
  const until =
    pinned?.expiresInMs === undefined
      ? 'until released'
      : `for ${Math.round(pinned.expiresInMs / 1000)} s more`;
  const held = pinned ? yellow(`  pinned to rung ${pinned.rung} ${until}`) : '';
  terminal.print(
    `${bold(`${report.model} ${report.version}`)}  position ${report.position.toFixed(2)}${held}`,
  );
  const width = Math.max(...report.rungs.map(({ variant }) => variant.length));
  for (const rung of report.rungs) {
    const bar = '█'.repeat(Math.round(rung.shareRatio * SHARE_CELLS)).padEnd(SHARE_CELLS, '·');
    const quality = rung.qualityRatio === undefined ? '' : `  quality ${rung.qualityRatio}`;
    const state = rung.available ? '' : yellow(`  gets no work: ${rung.because ?? 'unknown'}`);
    const share = `${Math.round(rung.shareRatio * 100)} %`.padStart(5);
    terminal.print(
      `  ${rung.rung}  ${rung.variant.padEnd(width)}  ${bar} ${share}  ${rung.requests} answered${quality}  breaker ${rung.breaker}${state}`,
    );
  }
  for (const change of report.history.slice(-HISTORY_LINES)) {
    const at = new Date(change.wallTimeMs).toISOString().slice(11, 19);
    terminal.print(dim(`  ${at}  rung ${change.from} → ${change.to}: ${change.because}`));
  }
}
