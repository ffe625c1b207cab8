import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { type AimedServer, conduct } from '../drill/conduct.ts';
import type { Drill } from '../drill/drill.ts';
import { DRILLS, drillNamed } from '../drill/drills.ts';
import { listDocument, printList, printReport, reportDocument } from '../drill/report.ts';
import { timelineLine } from '../drill/timeline.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { Failure } from '../failure.ts';
import { durationMs, positiveInteger } from '../flag-value.ts';
import { serverUrl } from '../server-client.ts';
import type { Verb, VerbContext } from '../verb.ts';

/** A request that a person has written; the server's own limit is larger. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;

interface Options {
  readonly json: boolean;
  readonly list: boolean;
  readonly model?: string;
  readonly body?: string;
  readonly rate?: number;
  readonly duration?: number;
  readonly url?: string;
  readonly adminUrl?: string;
}

export const drill: Verb = {
  define(command: Command, run) {
    command
      .argument('[name]', 'the drill; --list shows them all')
      .option('--list', 'list the drills and when they pass', false)
      .option(
        '--model <model>',
        "with --url: the model to break; else a model's folder in place of the built-in one",
      )
      .option('--body <file>', 'the JSON of a predict request, for models whose input can not be made up')
      .option('--rate <n>', 'requests a second (default: as the drill says)', positiveInteger)
      .option(
        '--duration <duration>',
        'time from the fault to the end (default: as the drill says)',
        durationMs,
      )
      .option('--url <url>', 'a running server with "drills: true", in place of one of its own')
      .option('--admin-url <url>', 'admin address of that server')
      .option('--json', 'print one JSON document', false)
      .action((name: string | undefined, options: Options) =>
        run((context) => runDrill(name, options, context), options),
      );
  },
};

async function runDrill(name: string | undefined, options: Options, context: VerbContext): Promise<ExitCode> {
  const terminal = context.terminal(options);
  if (options.list) {
    if (options.json) terminal.printJson(listDocument(DRILLS));
    else printList(terminal, DRILLS);
    return EXIT.ok;
  }
  if (name === undefined) {
    throw new Failure(EXIT.usage, 'Cannot run a drill: none is named', {
      expected: `one of ${DRILLS.map((known) => known.name).join(', ')}`,
      fix: 'gimbal drill --list',
    });
  }
  const chosen = drillNamed(name);
  const aim = aimOf(chosen, options, context);
  const where = aim === undefined ? 'a server of its own' : `${aim.model} on ${aim.url}`;
  terminal.say(`${chosen.name}: ${chosen.summary} (${where})`);
  const report = await conduct({
    drill: chosen,
    aim,
    modelFolder: aim === undefined ? modelFolder(options.model, context.cwd) : undefined,
    body: options.body === undefined ? undefined : readBody(resolve(context.cwd, options.body)),
    ratePerSecond: options.rate ?? chosen.ratePerSecond,
    durationMs: options.duration ?? chosen.durationMs,
    environment: context.environment,
    onSecond: (second, full) => {
      if (!options.json) terminal.say(timelineLine(second, full, terminal.humanColours));
    },
  });
  if (options.json) terminal.printJson(reportDocument(report));
  else printReport(terminal, report);
  return report.isPassed ? EXIT.ok : EXIT.failure;
}

function aimOf(
  { name, ownServerBecause }: Drill,
  { url, adminUrl, model }: Options,
  { environment }: VerbContext,
): AimedServer | undefined {
  if (url === undefined && adminUrl === undefined) return undefined;
  if (ownServerBecause !== undefined) {
    throw new Failure(EXIT.usage, `Cannot aim ${name} at a running server: ${ownServerBecause}`, {
      where: '--url',
      fix: `gimbal drill ${name}`,
    });
  }
  if (url === undefined || adminUrl === undefined || model === undefined) {
    throw new Failure(EXIT.usage, 'Cannot aim a drill: --url, --admin-url and --model belong together', {
      expected: '--url http://127.0.0.1:8000 --admin-url http://127.0.0.1:8002 --model <name>',
    });
  }
  return { url: serverUrl(url, environment), adminUrl: serverUrl(adminUrl, environment), model };
}

function modelFolder(given: string | undefined, cwd: string): string | undefined {
  if (given === undefined) return undefined;
  const path = resolve(cwd, given);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path;
  throw new Failure(EXIT.usage, "Cannot use the model: without --url it is a model's folder", {
    where: `--model ${given}`,
    expected: 'a folder with <version>/model.onnx in it',
    got: 'no folder',
  });
}

function readBody(path: string): Buffer {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat?.isFile() || stat.size > MAX_BODY_BYTES) {
    throw new Failure(EXIT.usage, 'Cannot read the request', {
      where: `--body ${path}`,
      expected: `a file of at most ${MAX_BODY_BYTES} bytes`,
      got: stat === undefined ? 'no file' : `${stat.size} bytes`,
    });
  }
  return readFileSync(path);
}
