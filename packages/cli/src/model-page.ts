import { describeByteSize } from '@gimbal/core/config';
import { bar } from './answer-text.ts';
import type { Terminal } from './terminal.ts';

const SHOWN_LABELS = 5;
const SHOWN_COLUMNS = 12;
const SHOWN_POINTS = 12;
const BAR_WIDTH = 16;

interface TensorDocument {
  readonly name?: string;
  readonly datatype?: string;
  readonly shape?: readonly number[];
}

interface VersionDocument {
  readonly version?: string;
  readonly state?: string;
  readonly reason?: string | null;
  readonly variants?: readonly {
    readonly name?: string;
    readonly state?: string;
    readonly runners?: number;
  }[];
}

interface LimitsDocument {
  readonly max_body_bytes?: number;
  readonly max_inputs?: number;
  readonly max_rows?: number;
  readonly deadline_ms?: number;
  readonly max_delay_ms?: number;
}

interface ProfileDocument {
  readonly fixed_ms?: number;
  readonly per_row_ms?: number;
  readonly best_rows?: number;
  readonly points?: readonly { readonly rows?: number; readonly median_ms?: number }[];
}

/** `GET /v1/models/{model}`, as far as it is shown; all may be missing. */
export interface ModelDetailDocument {
  readonly name?: string;
  readonly task?: string | null;
  readonly state?: string;
  readonly default_version?: string | null;
  readonly digest?: string | null;
  readonly batching?: boolean;
  readonly versions?: readonly VersionDocument[];
  readonly failures?: readonly { readonly version?: string; readonly reason?: string | null }[];
  readonly inputs?: readonly TensorDocument[];
  readonly outputs?: readonly TensorDocument[];
  readonly labels?: { readonly count?: number; readonly first?: readonly string[] } | null;
  readonly columns?: readonly string[] | null;
  readonly limits?: LimitsDocument | null;
  readonly profile?: ProfileDocument | null;
  readonly derivations?: readonly {
    readonly field?: string;
    readonly value?: string;
    readonly because?: string;
  }[];
  readonly examples?: readonly { readonly title?: string; readonly curl?: string }[];
}

/** A key, what is said of it, and what is said of that more quietly. */
type Fact = readonly [key: string, value: string, remark?: string];

/** One model as a page for people: what it takes and gives, what serves it, what it costs, how to try it. */
export function printModelPage(terminal: Terminal, model: ModelDetailDocument): void {
  const { bold, dim } = terminal.colours;
  const { name = '?', task, state = 'unknown', default_version: version } = model;
  const about = [task, version && `version ${version}`, state].filter((part) => part);
  terminal.print(`${bold(name)}  ${about.join(' · ')}`);
  printFacts(
    terminal,
    'Inputs',
    model.inputs?.map((tensor) => tensorFact(tensor, model)),
  );
  printFacts(
    terminal,
    'Outputs',
    model.outputs?.map((tensor) => tensorFact(tensor, model)),
  );
  printFacts(terminal, 'Versions and variants, best first', model.versions?.flatMap(variantFacts));
  printFacts(
    terminal,
    'Can not be loaded',
    model.failures?.map(({ version, reason }) => [version ?? '?', reason ?? '']),
  );
  printFacts(terminal, 'Limits', limitFacts(model));
  printProfile(terminal, model.profile);
  printFacts(terminal, 'Known of it', knownFacts(model));
  const derived = model.derivations?.map(
    ({ field = '', value = '', because = '' }): Fact => [field, value, `(${because})`],
  );
  printFacts(terminal, 'Derived, not declared', derived);
  const examples = model.examples?.filter(({ curl }) => curl !== undefined) ?? [];
  if (examples.length > 0) terminal.print(bold('Try'));
  for (const { title, curl } of examples) {
    if (title !== undefined) terminal.print(`  ${dim(`# ${title}`)}`);
    terminal.print(`  ${curl}`);
  }
}

function printFacts(terminal: Terminal, title: string, facts: readonly Fact[] = []): void {
  if (facts.length === 0) return;
  const { bold, dim } = terminal.colours;
  const keys = Math.max(...facts.map(([key]) => key.length));
  const values = Math.max(...facts.map(([, value, remark]) => (remark === undefined ? 0 : value.length)));
  terminal.print(bold(title));
  for (const [key, value, remark] of facts) {
    const rest = remark === undefined ? value : `${value.padEnd(values)}  ${dim(remark)}`;
    terminal.print(`  ${dim(key.padEnd(keys))}  ${rest}`.trimEnd());
  }
}

function tensorFact(
  { name = '?', datatype = '?', shape = [] }: TensorDocument,
  { batching }: ModelDetailDocument,
): Fact {
  const axes = shape.map((length, axis) => (length >= 0 ? length : axis === 0 && batching ? 'batch' : 'any'));
  return [name, `${datatype} [${axes.join(', ')}]`];
}

function variantFacts({ version = '?', state = '?', reason, variants = [] }: VersionDocument): Fact[] {
  const why = reason ? `${state}: ${reason}` : state;
  if (variants.length === 0) return [[version, why]];
  return variants.map(({ name = '?', state: own = '?', runners = 0 }) => [
    `${version} ${name}`,
    own,
    `${runners} ${runners === 1 ? 'runner' : 'runners'}${reason ? `; ${reason}` : ''}`,
  ]);
}

function limitFacts({ limits, batching }: ModelDetailDocument): Fact[] {
  if (!limits) return [];
  const {
    max_rows: rows,
    max_delay_ms: delay,
    deadline_ms: deadline,
    max_body_bytes: body,
    max_inputs: inputs,
  } = limits;
  const facts: (Fact | undefined)[] = [
    batching === false
      ? ['batching', 'none: the model has no batch axis']
      : rows === undefined
        ? undefined
        : ['batching', batchingText(rows, delay)],
    deadline === undefined ? undefined : ['deadline', durationText(deadline), 'unless a request says less'],
    body === undefined ? undefined : ['body', describeByteSize(body), 'after decompression'],
    inputs === undefined ? undefined : ['inputs', `${inputs} in a request`],
  ];
  return facts.filter((fact) => fact !== undefined);
}

function batchingText(rows: number, delayMs: number | undefined): string {
  if (rows <= 1) return 'one row at a time: more are not cheaper together';
  const wait = delayMs === undefined ? '' : `, waiting at most ${durationText(delayMs)} for companions`;
  return `up to ${rows} rows in a run${wait}`;
}

function printProfile(terminal: Terminal, profile: ProfileDocument | null | undefined): void {
  if (!profile) return;
  const { bold, cyan, dim } = terminal.colours;
  const { fixed_ms: fixed = 0, per_row_ms: perRow = 0, best_rows: best, points = [] } = profile;
  terminal.print(bold('Measured at load'));
  const cheapest = best === undefined ? '' : dim(`, cheapest at ${best} ${best === 1 ? 'row' : 'rows'}`);
  terminal.print(`  ${digits(fixed)} ms a run + ${digits(perRow)} ms a row${cheapest}`);
  const shown = points.slice(0, SHOWN_POINTS);
  const longest = Math.max(...shown.map(({ median_ms: ms = 0 }) => ms));
  for (const { rows = 0, median_ms: ms = 0 } of shown) {
    const count = `${rows} ${rows === 1 ? 'row' : 'rows'}`.padStart(8);
    terminal.print(
      `  ${count}  ${`${digits(ms)} ms`.padStart(10)}  ${cyan(bar(ms / longest, BAR_WIDTH))}`.trimEnd(),
    );
  }
}

function knownFacts({ labels, columns, digest }: ModelDetailDocument): Fact[] {
  const facts: Fact[] = [];
  if (labels?.count)
    facts.push(['labels', `${labels.count}: ${someOf(labels.first ?? [], SHOWN_LABELS, labels.count)}`]);
  if (columns && columns.length > 0)
    facts.push(['columns', `${columns.length}: ${someOf(columns, SHOWN_COLUMNS, columns.length)}`]);
  if (digest) facts.push(['digest', digest]);
  return facts;
}

function someOf(names: readonly string[], most: number, count: number): string {
  const shown = names.slice(0, most);
  return `${shown.join(', ')}${count > shown.length ? ', …' : ''}`;
}

function digits(value: number): string {
  return String(Number(value.toPrecision(3)));
}

function durationText(ms: number): string {
  return ms >= 1000 ? `${digits(ms / 1000)} s` : `${digits(ms)} ms`;
}
