/** What decides whether a terminal gets colours (https://no-color.org, https://force-color.org). */
export interface ColourSigns {
  readonly isTerminal: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const RESET = '\x1b[0m';
const LEVEL_STYLES: Readonly<Record<string, string>> = {
  debug: '\x1b[2m',
  info: '\x1b[32m',
  warn: '\x1b[33m',
  error: '\x1b[31m',
  fatal: '\x1b[31;1m',
};
const DIM = '\x1b[2m';
/** Shown first or not at all: the rest follows as `name=value`. */
const OWN_PLACE = new Set(['timestamp', 'level', 'message', 'service.name', 'pid', 'hostname', 'err']);

export function wantsColour({ isTerminal, environment }: ColourSigns): boolean {
  if (environment.NO_COLOR !== undefined && environment.NO_COLOR !== '') return false;
  if (environment.FORCE_COLOR !== undefined) return environment.FORCE_COLOR !== '0';
  return isTerminal && environment.TERM !== 'dumb';
}

/** One line of JSON as a person reads it: time, level, message, fields; a stack below. Other text passes unchanged. */
export function prettyLine(line: string, colour: boolean): string {
  const fields = parsed(line);
  if (!fields) return line;
  const paint = (style: string, text: string): string => (colour ? `${style}${text}${RESET}` : text);
  const level = String(fields.level ?? 'info');
  const time = localTime(String(fields.timestamp ?? ''));
  const rest = Object.entries(fields)
    .filter(([name]) => !OWN_PLACE.has(name))
    .map(([name, value]) => `${paint(DIM, `${name}=`)}${valueText(value)}`);
  const head = `${paint(DIM, time)} ${paint(LEVEL_STYLES[level] ?? '', level.toUpperCase().padEnd(5))} ${printable(String(fields.message ?? ''))}`;
  return `${[head, ...rest].join(' ')}${stackBelow(fields.err)}\n`;
}

function parsed(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

function localTime(timestamp: string): string {
  const date = new Date(timestamp);
  if (Number.isNaN(date.getTime())) return timestamp;
  const two = (value: number): string => String(value).padStart(2, '0');
  const ms = String(date.getMilliseconds()).padStart(3, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${ms}`;
}

function valueText(value: unknown): string {
  if (typeof value === 'string' && /^[\w.:/@{}-]+$/.test(value)) return value;
  return printable(JSON.stringify(value) ?? String(value));
}

function stackBelow(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  const { stack, message } = error as { stack?: unknown; message?: unknown };
  const text = printable(String(stack ?? message ?? ''));
  return text === '' ? '' : `\n    ${text.replaceAll('\n', '\n    ')}`;
}

/** Control characters of foreign text must not move the cursor or forge lines on somebody's terminal. */
function printable(text: string): string {
  let safe = '';
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    const control = (code < 0x20 && character !== '\n') || (code >= 0x7f && code < 0xa0);
    safe += control ? `\\x${code.toString(16).padStart(2, '0')}` : character;
  }
  return safe;
}
