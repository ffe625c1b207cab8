import type { CatalogueEntry, Derivation, VersionView } from '@gimbal/core';
import { renderTable, type TableRow } from '../model-table.ts';
import type { Terminal } from '../terminal.ts';
import { curlCommands } from './curl-commands.ts';

const SHOWN_COMMANDS = 3;

/** Derivations that a person can do nothing about. */
const OBVIOUS = ['signature', 'batchAxis', 'deadline', 'batching.maxSize', 'runners.threads'];

export interface StartupFacts {
  readonly http: string;
  /** Null where it is not served. */
  readonly grpc: string | null;
  readonly admin: string;
  readonly entries: readonly CatalogueEntry[];
  readonly cwd: string;
  readonly version: string;
}

/** What a person sees when the server is ready: what is served, where, how to try it. */
export function printStartupScreen(terminal: Terminal, facts: StartupFacts): void {
  const { bold, cyan, dim, red } = terminal.humanColours;
  const [head = '', ...rows] = renderTable(facts.entries.flatMap(rowsOf));
  terminal.say();
  terminal.say(`${bold('Gimbal')} ${facts.version} is ready`);
  terminal.say();
  terminal.say(`  ${dim(head)}`);
  for (const row of rows) terminal.say(`  ${row}`);
  for (const { model, failures } of facts.entries) {
    for (const { version, reason } of failures) terminal.say(`  ${red('✗')} ${model} ${version}: ${reason}`);
  }
  const lines = facts.entries.flatMap(derivationLines);
  if (lines.length > 0) terminal.say(`\n  ${dim('derived, not declared')}`);
  for (const line of lines) terminal.say(`  ${dim(line)}`);
  terminal.say();
  terminal.say(`  ${dim('http ')}  ${cyan(facts.http)}     ${dim('docs')} ${cyan(`${facts.http}/docs`)}`);
  if (facts.grpc !== null) terminal.say(`  ${dim('grpc ')}  ${cyan(facts.grpc)}`);
  terminal.say(
    `  ${dim('admin')}  ${cyan(facts.admin)}     ${dim('metrics')} ${cyan(`${facts.admin}/metrics`)}`,
  );
  const commands = curlCommands(facts.http, facts.entries, { cwd: facts.cwd, limit: SHOWN_COMMANDS });
  if (commands.length > 0) terminal.say(`\n  ${dim('try')}`);
  for (const command of commands) terminal.say(`  ${command}`);
  terminal.say(`\n  ${dim('Ctrl+C drains and stops; twice hurries')}`);
  terminal.say();
}

function rowsOf({ model, versions }: CatalogueEntry): TableRow[] {
  return versions.map((view) => ({
    model,
    version: view.spec.version,
    state: view.reason === undefined ? view.state : `${view.state} (${view.reason})`,
    task: view.spec.task,
    variants: `${view.variants.map(({ name }) => name).join(' > ')}${describeBatching(view)}`,
  }));
}

/** `batches to 16: 0.02 + 0.004·n ms`; what the self-profile found. */
function describeBatching({ profile, maxRows, spec }: VersionView): string {
  if (spec.signature.batchAxis === 'none') return '  (no batch axis)';
  if (profile === undefined) return '';
  const cost = `${digits(profile.fixedMs)} + ${digits(profile.perRowMs)}·n ms`;
  return profile.bestRows > 1 ? `  (batches to ${maxRows}: ${cost})` : `  (batching does not pay: ${cost})`;
}

function digits(ms: number): string {
  return String(Number(ms.toPrecision(2)));
}

function derivationLines({ model, versions }: CatalogueEntry): string[] {
  return versions.flatMap(({ spec }) => {
    const shown = spec.derivations.filter(({ field }) => !OBVIOUS.includes(field));
    const isGuess = ({ because }: Derivation): boolean => because.startsWith('guess');
    const sure = shown.filter((derivation) => !isGuess(derivation));
    const guessed = shown.filter(isGuess);
    return [line(`${model}/${spec.version}`, sure), line(`${model}/${spec.version} guessed`, guessed)].filter(
      (text) => text !== undefined,
    );
  });
}

function line(name: string, derivations: readonly Derivation[]): string | undefined {
  if (derivations.length === 0) return undefined;
  return `${name}: ${derivations.map(({ field, value }) => `${field} ${value}`).join(', ')}`;
}
