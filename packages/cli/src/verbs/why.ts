import type { Command } from 'commander';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { Failure } from '../failure.ts';
import { durationMs } from '../flag-value.ts';
import { ServerClient, serverUrl } from '../server-client.ts';
import type { Terminal } from '../terminal.ts';
import type { Verb, VerbContext } from '../verb.ts';
import { advice, type Story, stages, tell } from '../why/story.ts';

const USUAL_ADMIN_URL = 'http://127.0.0.1:8002';
const USUAL_TIMEOUT_MS = 10_000;
const USUAL_SINCE_MS = 300_000;

interface Options {
  readonly json: boolean;
  readonly adminUrl?: string;
  readonly timeout: number;
  readonly recent: boolean;
  readonly model?: string;
  readonly since: number;
}

/** A row of `GET /admin/v1/why`. */
interface Notable {
  readonly model: string;
  readonly kind: string;
  readonly code?: string;
  readonly degradedBecause?: string;
  readonly count: number;
  readonly lastWallTimeMs: number;
  readonly meanBudgetMs: number;
  readonly examples: readonly string[];
}

export const why: Verb = {
  define(command: Command, run) {
    command
      .argument('[request-id]', 'X-Request-Id of an answer')
      .option('--recent', 'sum up what did not go well lately, instead of one request', false)
      .option('--model <name>', 'with --recent: of this model alone')
      .option('--since <duration>', 'with --recent: how far back', durationMs, USUAL_SINCE_MS)
      .option(
        '--admin-url <url>',
        `admin address of the server (default: GIMBAL_ADMIN_URL, else ${USUAL_ADMIN_URL})`,
      )
      .option('--timeout <duration>', 'the longest that the server may take', durationMs, USUAL_TIMEOUT_MS)
      .option('--json', 'print one JSON document', false)
      .action((id: string | undefined, options: Options) =>
        run((context) => (options.recent ? recent(options, context) : one(id, options, context)), options),
      );
  },
};

async function one(id: string | undefined, options: Options, context: VerbContext): Promise<ExitCode> {
  if (id === undefined) {
    throw new Failure(EXIT.usage, 'Cannot tell why: no request was named', {
      expected: 'the X-Request-Id of an answer, or --recent',
      fix: 'gimbal why 01990000-0000-7000-8000-000000000001, or gimbal why --recent',
    });
  }
  const { body } = await clientOf(options, context).request({
    method: 'GET',
    path: `/admin/v1/why/${encodeURIComponent(id)}`,
  });
  const terminal = context.terminal(options);
  if (options.json) {
    terminal.printJson(body);
    return EXIT.ok;
  }
  printStory(terminal, body as Story);
  return EXIT.ok;
}

function printStory(terminal: Terminal, story: Story): void {
  const { bold, dim } = terminal.colours;
  for (const [index, line] of tell(story).entries()) terminal.print(index === 0 ? bold(line) : line);
  const bars = stages(story.call);
  if (bars.length > 0) terminal.print('');
  for (const bar of bars) terminal.print(`  ${bar}`);
  const hint = advice(story);
  if (hint !== undefined) terminal.print(`\n${dim('What helps:')} ${hint}`);
}

async function recent(options: Options, context: VerbContext): Promise<ExitCode> {
  const query = new URLSearchParams({ since_ms: String(options.since) });
  if (options.model !== undefined) query.set('model', options.model);
  const { body } = await clientOf(options, context).request({
    method: 'GET',
    path: `/admin/v1/why?${query}`,
  });
  const terminal = context.terminal(options);
  if (options.json) {
    terminal.printJson(body);
    return EXIT.ok;
  }
  const { notable } = body as { notable: readonly Notable[] };
  if (notable.length === 0) {
    terminal.print(
      `Nothing was refused, failed or degraded in the last ${Math.round(options.since / 1000)} s`,
    );
    return EXIT.ok;
  }
  const { bold } = terminal.colours;
  const rows = notable.map((row) => [
    String(row.count),
    row.model,
    row.kind,
    row.code ?? row.degradedBecause ?? '',
    new Date(row.lastWallTimeMs).toISOString().slice(11, 19),
    `${Math.round(row.meanBudgetMs)} ms`,
    row.examples[0] ?? '',
  ]);
  const head = ['COUNT', 'MODEL', 'WHAT', 'WHY', 'LAST (UTC)', 'BUDGET', 'FOR EXAMPLE'];
  const widths = head.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  terminal.print(bold(line(head)));
  for (const row of rows) terminal.print(line(row));
  return EXIT.ok;
}

function clientOf({ adminUrl, timeout }: Options, { environment }: VerbContext): ServerClient {
  const url = adminUrl ?? (environment.GIMBAL_ADMIN_URL || USUAL_ADMIN_URL);
  return new ServerClient(serverUrl(url, environment), timeout);
}
