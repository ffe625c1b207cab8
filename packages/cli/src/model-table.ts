import type { ListedModel } from './server-client.ts';
import type { Terminal } from './terminal.ts';

/** A member of `GET /v1/models`, as far as it is shown; all may be missing. */
interface ModelDocument {
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

/** One row for each version: the reason of a change that failed stands below, what serves is in its row. */
function rowsOf(model: ListedModel): TableRow[] {
  const document: ModelDocument = model;
  const shown = { model: model.name, task: document.task ?? '' };
  const listed = (document.versions ?? []).map((entry) =>
    typeof entry === 'string' ? entry : entry.version,
  );
  const failed = (document.failures ?? []).filter(({ version }) => !listed.includes(version));
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
