import type { ListedModel } from './server-client.ts';
import type { Terminal } from './terminal.ts';

/** Members of `GET /v1/models` and `GET /v1/models/{model}`, as far as they are shown; all may be missing. */
export interface ModelDocument {
  readonly name?: string;
  readonly task?: string | null;
  readonly state?: string;
  readonly versions?: readonly (VersionDocument | string)[];
  readonly failures?: readonly { readonly version?: string; readonly reason?: string | null }[];
  readonly [member: string]: unknown;
}

interface VersionDocument {
  readonly version?: string;
  readonly state?: string;
  readonly reason?: string | null;
  readonly variants?: readonly ({ readonly name?: string; readonly state?: string } | string)[];
}

const COLUMNS = ['model', 'version', 'state', 'task', 'variants'] as const;

export type TableRow = Readonly<Record<(typeof COLUMNS)[number], string>>;

export function printModelTable(terminal: Terminal, models: readonly ListedModel[]): void {
  if (models.length === 0) {
    terminal.say('The server has no models');
    return;
  }
  const { bold } = terminal.colours;
  const rows = models.flatMap(rowsOf);
  const [head = '', ...lines] = renderTable(rows);
  terminal.print(bold(head));
  for (const line of lines) terminal.print(line);
  for (const reason of models.flatMap(reasonsOf)) terminal.say(`${terminal.humanColours.red('✗')} ${reason}`);
}

/** A header line and one line for each row, columns aligned. */
export function renderTable(rows: readonly TableRow[]): string[] {
  const widths = COLUMNS.map((column) => Math.max(column.length, ...rows.map((row) => row[column].length)));
  const render = (cells: readonly string[]): string =>
    cells
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd();
  return [
    render(COLUMNS.map((column) => column.toUpperCase())),
    ...rows.map((row) => render(COLUMNS.map((column) => row[column]))),
  ];
}

/** The document as indented `name: value` lines: whatever the server says is shown, known or not. */
export function describeModel(document: ModelDocument): string[] {
  return describe(document, 0);
}

function rowsOf(model: ListedModel): TableRow[] {
  const document: ModelDocument = model;
  const shown = { model: model.name, task: document.task ?? '' };
  const failed = document.failures ?? [];
  const rows = [
    ...(document.versions ?? []).map((entry) => ({ ...shown, ...versionCells(entry, document) })),
    ...failed.map(({ version }) => ({
      ...shown,
      version: version ?? '-',
      state: 'unavailable',
      variants: '',
    })),
  ];
  return rows.length > 0
    ? rows
    : [{ ...shown, version: '-', state: document.state ?? 'unloaded', variants: '' }];
}

function versionCells(entry: VersionDocument | string, document: ModelDocument) {
  const version: VersionDocument = typeof entry === 'string' ? { version: entry } : entry;
  const variants = version.variants ?? [];
  return {
    version: version.version ?? '-',
    state: version.state ?? document.state ?? '',
    variants: variants
      .map((variant) => (typeof variant === 'string' ? variant : (variant.name ?? '?')))
      .join(' > '),
  };
}

/** Why versions can't be served, one line each. */
function reasonsOf(model: ListedModel): string[] {
  const document: ModelDocument = model;
  const versions = (document.versions ?? []).filter((entry) => typeof entry !== 'string');
  return [...versions, ...(document.failures ?? [])].flatMap(({ version, reason }) =>
    typeof reason === 'string' ? [`${model.name} ${version ?? '-'}: ${reason}`] : [],
  );
}

/** Deeper parts and long lists are shown as JSON. */
const MAX_DEPTH = 3;
const MAX_LIST = 20;

function describe(value: object, depth: number): string[] {
  const indent = '  '.repeat(depth);
  return Object.entries(value).flatMap(([name, inner]) => {
    if (inner === null || typeof inner !== 'object') return [`${indent}${name}: ${String(inner)}`];
    if (Array.isArray(inner)) return describeList(name, inner, depth);
    if (depth >= MAX_DEPTH) return [`${indent}${name}: ${JSON.stringify(inner)}`];
    return [`${indent}${name}:`, ...describe(inner, depth + 1)];
  });
}

function describeList(name: string, list: readonly unknown[], depth: number): string[] {
  const indent = '  '.repeat(depth);
  const isPlain = list.every((item) => item === null || typeof item !== 'object');
  if (isPlain) {
    const shown = list.slice(0, MAX_LIST).map(String).join(', ');
    return [`${indent}${name}: ${shown}${list.length > MAX_LIST ? `, … (${list.length})` : ''}`];
  }
  if (depth >= MAX_DEPTH) return [`${indent}${name}: ${JSON.stringify(list)}`];
  return [
    `${indent}${name}:`,
    ...list
      .slice(0, MAX_LIST)
      .flatMap((item, index) =>
        typeof item === 'object' && item !== null
          ? [`${indent}  - #${index}`, ...describe(item, depth + 2)]
          : [`${indent}  - ${String(item)}`],
      ),
  ];
}
