import { nearestName } from '@gimbal/core';
import { type Command, InvalidArgumentError } from 'commander';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { Failure } from '../failure.ts';
import { durationMs, positiveInteger } from '../flag-value.ts';
import { chartLines, percent, summaryLines } from '../simulation/chart.ts';
import { type ModelQuestion, modelPlan, requestsOf } from '../simulation/model-plan.ts';
import { MODEL_PROFILES, type ModelProfile, profileNamed } from '../simulation/profiles.ts';
import { summaryOf } from '../simulation/summary.ts';
import { runWorld, type WorldResult } from '../simulation/world.ts';
import type { Verb, VerbContext } from '../verb.ts';

/** Some seconds of computing; more says nothing new. */
const MAX_REQUESTS = 500_000;
const MAX_RUNNERS = 256;

interface Options {
  readonly json: boolean;
  readonly model: string;
  readonly rate: number;
  readonly spike: number;
  readonly deadline: number;
  readonly runners: number;
  readonly seed: number;
}

export const simulate: Verb = {
  define(command: Command, run) {
    command
      .requiredOption(
        '--model <name>',
        `a built-in profile: ${MODEL_PROFILES.map(({ name }) => name).join(', ')}`,
      )
      .option('--rate <n>', 'requests a second, before and after the spike', positiveInteger, 100)
      .option('--spike <factor>', 'multiple of the rate for 10 s, such as 10x', factor, 1)
      .option('--deadline <duration>', 'how long clients wait', durationMs, 500)
      .option('--runners <n>', 'runners of each variant', positiveInteger, 1)
      .option('--seed <n>', 'the same seed gives the same world', positiveInteger, 1)
      .option('--json', 'print one JSON document', false)
      .action((options: Options) => run((context) => runSimulation(options, context), options));
  },
};

async function runSimulation(options: Options, context: VerbContext): Promise<ExitCode> {
  const terminal = context.terminal(options);
  const question: ModelQuestion = {
    model: modelNamed(options.model),
    ratePerSecond: options.rate,
    spikeFactor: options.spike,
    deadlineMs: options.deadline,
    runners: options.runners,
  };
  checkSize(question);
  const result = runWorld({ plan: modelPlan(question), seed: options.seed });
  const summary = summaryOf(result);
  if (options.json) {
    const { seconds, codes } = result.tally;
    terminal.printJson({ ...summary, rungs: rungShares(result), seconds, codes: Object.fromEntries(codes) });
    return EXIT.ok;
  }
  terminal.print(
    `${question.model.name}: ${question.model.about}; ${options.rate} requests a second, ${options.spike} times that from 5 s to 15 s, on a virtual clock\n`,
  );
  for (const line of chartLines(result.tally, terminal.colours)) terminal.print(line);
  terminal.print('');
  for (const line of summaryLines(summary)) terminal.print(line);
  const rungs = rungShares(result);
  if (rungs.length > 1) {
    const shares = rungs.map(({ name, share_ratio }) => `${name} ${percent(share_ratio)}`).join(', ');
    terminal.print(`${'answered by'.padEnd(22)} ${shares}`);
  }
  return EXIT.ok;
}

function modelNamed(name: string): ModelProfile {
  const model = profileNamed(name);
  if (model) return model;
  const names = MODEL_PROFILES.map((each) => each.name);
  const near = nearestName(name, names);
  throw new Failure(EXIT.usage, `Cannot simulate ${JSON.stringify(name)}: there is no such profile`, {
    where: `--model ${name}`,
    expected: `one of ${names.join(', ')}`,
    ...(near === undefined ? {} : { fix: `did you mean ${JSON.stringify(near)}?` }),
  });
}

function checkSize(question: ModelQuestion): void {
  const requests = requestsOf(question);
  if (requests > MAX_REQUESTS) {
    throw new Failure(EXIT.usage, 'Cannot simulate so many requests', {
      where: '--rate, --spike',
      expected: `at most ${MAX_REQUESTS} in 25 s`,
      got: String(Math.round(requests)),
    });
  }
  if (question.runners > MAX_RUNNERS) {
    throw new Failure(EXIT.usage, 'Cannot simulate so many runners', {
      where: '--runners',
      expected: `at most ${MAX_RUNNERS}`,
      got: String(question.runners),
    });
  }
}

/** Part of the good answers that each variant gave. */
function rungShares({ plan, tally }: WorldResult): { name: string; share_ratio: number }[] {
  const byRung = plan.groups.map(({ name }) => tally.group(name).byRung);
  return plan.rungs.map(({ name }, rung) => {
    const answers = byRung.reduce((sum, counts) => sum + (counts[rung] ?? 0), 0);
    return { name, share_ratio: answers / Math.max(1, tally.good) };
  });
}

/** `10x`, `2.5x` or `3`. */
function factor(written: string): number {
  const value = Number(/^(\d{1,4}(?:\.\d{1,3})?)x?$/.exec(written)?.[1] ?? Number.NaN);
  if (value > 0) return value;
  throw new InvalidArgumentError(`expected a multiple such as 10x, got ${JSON.stringify(written)}`);
}
