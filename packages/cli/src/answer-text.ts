import type { Terminal } from './terminal.ts';

const BAR_WIDTH = 24;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
const SHOWN_NUMBERS = 6;
const SHOWN_JSON_LENGTH = 400;
const MAX_SHOWN_PREDICTIONS = 100;
const SMALLEST_PERCENT = 0.0001;

export interface Prediction {
  readonly class_id?: number;
  readonly label?: string;
  readonly confidence?: number;
  /** [left, top, right, bottom] in pixels of the upright picture. */
  readonly bbox?: readonly number[];
  /** Points of it, [x, y, x, y, …] in the same pixels. */
  readonly landmarks?: readonly number[];
}

/** The answer of the native API, as far as it is shown. */
export interface PredictAnswer {
  readonly model?: string;
  readonly version?: string;
  readonly variant?: string;
  readonly degraded?: boolean;
  readonly predictions?: readonly Prediction[];
  readonly embedding?: readonly number[];
  readonly outputs?: Readonly<Record<string, unknown>>;
  readonly results?: readonly (PredictAnswer & {
    readonly error?: { readonly detail?: string; readonly message?: string };
  })[];
  readonly request_id?: string;
  readonly timings_ms?: Readonly<Record<string, number>>;
}

/** The result on stdout, how it was made on stderr. */
export function printAnswer(terminal: Terminal, answer: PredictAnswer): void {
  if (answer.results === undefined) printResult(terminal, answer);
  else {
    for (const [index, result] of answer.results.entries()) {
      terminal.print(terminal.colours.bold(`#${index}`));
      if (result.error === undefined) printResult(terminal, result);
      else
        terminal.print(
          `  ${terminal.colours.red('✗')} ${result.error.detail ?? result.error.message ?? 'failed'}`,
        );
    }
  }
  printMaking(terminal, answer);
}

/** A bar of eighths of characters: `████▌` for 0.19 of the width. */
export function bar(ratio: number, width = BAR_WIDTH): string {
  const eighths = Math.round(Math.min(1, Math.max(0, ratio)) * width * 8);
  return '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '');
}

function printResult(terminal: Terminal, result: PredictAnswer): void {
  if (result.predictions !== undefined) printPredictions(terminal, result.predictions);
  if (result.embedding !== undefined) terminal.print(describeEmbedding(result.embedding));
  for (const [name, value] of Object.entries(result.outputs ?? {})) {
    const json = JSON.stringify(value);
    const shown = json.length > SHOWN_JSON_LENGTH ? `${json.slice(0, SHOWN_JSON_LENGTH)}…` : json;
    terminal.print(`${terminal.colours.bold(name)} ${shown}`);
  }
}

function printPredictions(terminal: Terminal, predictions: readonly Prediction[]): void {
  if (predictions.length === 0) terminal.print('nothing found');
  const { cyan, dim } = terminal.colours;
  const names = predictions.map(nameOf);
  const width = Math.max(0, ...names.slice(0, MAX_SHOWN_PREDICTIONS).map((name) => name.length));
  for (const [index, prediction] of predictions.slice(0, MAX_SHOWN_PREDICTIONS).entries()) {
    const { confidence = 0, bbox } = prediction;
    const name = (names[index] ?? '').padEnd(width);
    const percent = percentText(confidence).padStart(7);
    const detail =
      bbox === undefined
        ? cyan(bar(confidence))
        : dim(`[${bbox.map((value) => Math.round(value)).join(', ')}]`);
    terminal.print(`${name}  ${percent}  ${detail}`.trimEnd());
  }
  const hidden = predictions.length - MAX_SHOWN_PREDICTIONS;
  if (hidden > 0) terminal.print(`… and ${hidden} more (--json shows all)`);
}

/** One decimal, as many as there must be for the first digit of something small, and never 0 for what is more. */
export function percentText(ratio: number): string {
  const percent = ratio * 100;
  if (percent === 0 || percent >= 0.05 || !Number.isFinite(percent)) return `${percent.toFixed(1)} %`;
  return percent < SMALLEST_PERCENT ? `< ${SMALLEST_PERCENT} %` : `${Number(percent.toPrecision(1))} %`;
}

export function nameOf({ label, class_id }: Prediction): string {
  return label ?? `class ${class_id ?? '?'}`;
}

function describeEmbedding(numbers: readonly number[]): string {
  const norm = Math.sqrt(numbers.reduce((sum, value) => sum + value * value, 0));
  const shown = numbers.slice(0, SHOWN_NUMBERS).map((value) => value.toFixed(4));
  const rest = numbers.length > SHOWN_NUMBERS ? ', …' : '';
  return `${numbers.length} numbers of length ${norm.toFixed(3)}: [${shown.join(', ')}${rest}]`;
}

function printMaking(terminal: Terminal, answer: PredictAnswer): void {
  const { dim, yellow } = terminal.humanColours;
  const made = [answer.model, answer.version, answer.variant].filter((part) => part !== undefined).join(' ');
  const timings = Object.entries(answer.timings_ms ?? {}).map(([stage, ms]) => `${stage} ${ms} ms`);
  const parts = [made, timings.join(', '), answer.request_id].filter(
    (part) => part !== undefined && part !== '',
  );
  terminal.say(dim(parts.join(' · ')));
  if (answer.degraded === true) terminal.say(yellow('degraded: answered by a lesser variant'));
}
