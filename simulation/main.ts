import { parseArgs } from 'node:util';
import { nearestName } from '@gimbal/core';
import { ANSI_COLOURS, chartLines, NO_COLOURS, summaryLines } from '../packages/cli/src/simulation/chart.ts';
import { summaryOf } from '../packages/cli/src/simulation/summary.ts';
import { INVARIANTS, Violation } from '../packages/cli/src/simulation/violation.ts';
import { runWorld } from '../packages/cli/src/simulation/world.ts';
import { EXPERIMENTS } from './experiments/experiments.ts';
import { runMutations } from './mutations.ts';
import { planOf, SCENARIOS, scenarioNamed } from './scenarios.ts';
import { randomPlan, runSwarm, SWARM } from './swarm.ts';

const USAGE = `Usage: npm run sim -- [options]
  --list               the scenarios, experiments and invariants
  --scenario NAME      run one scenario ("${SWARM}": the random world of a seed)
  --seed N             of the scenario, or the first one of a swarm (default: 1)
  --swarm N            run N random worlds
  --mutations          plant faults in the engine and see that the invariants find them
  --experiment NAME    compare what we do with what others do
  --json               one JSON document instead of text
Exit code: 0, or 1 when an invariant is broken, or 2 for options that are wrong.
`;
const MAX_WORLDS = 1_000_000;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

type Options = NonNullable<ReturnType<typeof readOptions>>;

function main(): number {
  const options = readOptions();
  if (!options) return 2;
  try {
    return run(options);
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    const { invariant, message, seed, at } = error;
    if (options.json) sayJson({ violation: { invariant, message, seed, at_ms: at } });
    else process.stderr.write(`✗ ${message}\n`);
    return 1;
  }
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        list: { type: 'boolean', default: false },
        scenario: { type: 'string' },
        seed: { type: 'string', default: '1' },
        swarm: { type: 'string' },
        mutations: { type: 'boolean', default: false },
        experiment: { type: 'string' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    for (const name of ['seed', 'swarm'] as const) {
      const written = values[name];
      if (written === undefined || (/^\d{1,9}$/.test(written) && Number(written) <= MAX_WORLDS * 1000))
        continue;
      throw new Error(`--${name}: expected a whole number, got ${JSON.stringify(written)}`);
    }
    return values;
  } catch (error) {
    process.stderr.write(
      `Cannot read the options: ${error instanceof Error ? error.message : String(error)}\n${USAGE}`,
    );
    return undefined;
  }
}

function run(options: Options): number {
  const { list, scenario, swarm, mutations, experiment, json } = options;
  const seed = Number(options.seed);
  if (list) return showList(json);
  if (swarm !== undefined) return swarmOf({ first: seed, count: Math.min(Number(swarm), MAX_WORLDS) }, json);
  if (mutations) return mutationsOf(seed, json);
  if (experiment !== undefined) return experimentNamed(experiment, seed, json);
  if (scenario !== undefined) return scenarioOf(scenario, seed, json);
  process.stdout.write(USAGE);
  return options.help ? 0 : 2;
}

function showList(json: boolean): number {
  if (json) {
    const scenarios = SCENARIOS.map(({ name, summary }) => ({ name, summary }));
    const experiments = EXPERIMENTS.map(({ name, summary }) => ({ name, summary }));
    sayJson({ scenarios, experiments, invariants: INVARIANTS });
    return 0;
  }
  const lines = (rows: readonly (readonly [string, string])[]): void => {
    for (const [name, summary] of rows) say(`  ${name.padEnd(22)} ${summary}`);
  };
  say('Scenarios');
  lines(SCENARIOS.map(({ name, summary }) => [name, summary] as const));
  say('\nExperiments');
  lines(EXPERIMENTS.map(({ name, summary }) => [name, summary] as const));
  say('\nInvariants, checked at every step');
  lines(Object.entries(INVARIANTS));
  return 0;
}

function scenarioOf(name: string, seed: number, json: boolean): number {
  const known = scenarioNamed(name);
  if (!known && name !== SWARM)
    return unknown('scenario', name, [SWARM, ...SCENARIOS.map((each) => each.name)]);
  const result = runWorld({ plan: known ? planOf(known) : randomPlan(seed), seed });
  const summary = summaryOf(result);
  if (json) {
    sayJson({ ...summary, seconds: result.tally.seconds, codes: Object.fromEntries(result.tally.codes) });
    return 0;
  }
  say(`${name}: ${known?.summary ?? 'a world that is drawn from its seed'}\n`);
  for (const line of chartLines(result.tally, process.stdout.isTTY ? ANSI_COLOURS : NO_COLOURS)) say(line);
  say('');
  for (const line of summaryLines(summary)) say(line);
  return 0;
}

function swarmOf(seeds: { first: number; count: number }, json: boolean): number {
  const { worlds, requests, checks, violations } = runSwarm(seeds);
  if (json) {
    const found = violations.map(({ invariant, seed, at, message }) => ({
      invariant,
      seed,
      at_ms: at,
      message,
    }));
    sayJson({ worlds, requests, checks, violations: found });
  } else {
    say(`${worlds} worlds, ${requests} requests, invariants looked at ${checks} times`);
    for (const { message } of violations) say(`✗ ${message}`);
    if (violations.length === 0) say('All invariants hold in all of them');
  }
  return violations.length === 0 ? 0 : 1;
}

function mutationsOf(seed: number, json: boolean): number {
  const results = runMutations(seed);
  const missed = results.filter(({ foundBy }) => foundBy === undefined);
  if (json) {
    sayJson({
      mutations: results.map(({ mutation, foundBy }) => ({ name: mutation.name, found_by: foundBy ?? null })),
    });
  } else {
    for (const { mutation, foundBy } of results) {
      const found = foundBy === undefined ? '✗ not found' : `found by ${foundBy}`;
      say(`${mutation.name.padEnd(24)} ${found.padEnd(30)} ${mutation.summary}`);
    }
    say(`\n${results.length - missed.length} of ${results.length} planted faults were found`);
  }
  return missed.length === 0 ? 0 : 1;
}

function experimentNamed(name: string, seed: number, json: boolean): number {
  const known = EXPERIMENTS.find((experiment) => experiment.name === name);
  if (!known)
    return unknown(
      'experiment',
      name,
      EXPERIMENTS.map((each) => each.name),
    );
  const table = known.run(seed);
  if (json) sayJson({ experiment: name, seed, ...table });
  else {
    say(`| ${table.columns.join(' | ')} |`);
    say(`|${'---|'.repeat(table.columns.length)}`);
    for (const row of table.rows) say(`| ${row.join(' | ')} |`);
  }
  return 0;
}

function unknown(kind: string, name: string, names: readonly string[]): number {
  const near = nearestName(name, names);
  const hint =
    near === undefined ? `expected one of ${names.join(', ')}` : `did you mean ${JSON.stringify(near)}?`;
  process.stderr.write(`Cannot find ${kind} ${JSON.stringify(name)}: ${hint}; see npm run sim -- --list\n`);
  return 2;
}

function sayJson(document: object): void {
  say(JSON.stringify(document, undefined, 2));
}

process.exitCode = main();
