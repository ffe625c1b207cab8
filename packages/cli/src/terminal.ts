import pc from 'picocolors';
import type { Failure } from './failure.ts';

type Colours = ReturnType<typeof pc.createColors>;

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const SPINNER_MS = 80;

/** Slow work says what it is doing after this long, and not before: fast work is silent. */
const SPINNER_DELAY_MS = 300;

export interface TerminalStreams {
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean };
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stdin: { readonly isTTY?: boolean };
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export interface TerminalOptions {
  /** `--json`: stdout has one JSON document. */
  readonly json: boolean;
  /** `--jsonl`: stdout has one JSON object a line, where a verb has several things to tell. */
  readonly jsonl?: boolean;
  /**
   * What stderr has. `text` is for people. `lines` is a log: one JSON object a line, also what would else be said to
   * people, since a collector can make nothing of a page. `auto`: text on a terminal, else lines. Default: text.
   */
  readonly stderr?: 'text' | 'lines' | 'auto';
}

/** stdout is for data, stderr for people. Colours and movement only where a person looks. */
export class Terminal {
  /** `--json` or `--jsonl`. */
  readonly isJson: boolean;
  /** Whether stderr is a log of JSON objects. */
  readonly isLog: boolean;
  /** Whether somebody is there to answer a question. */
  readonly isInteractive: boolean;
  readonly #streams: TerminalStreams;
  readonly #isJsonLines: boolean;
  readonly #moves: boolean;

  constructor(streams: TerminalStreams, options: TerminalOptions) {
    const { environment, stderr, stdin } = streams;
    const { json, jsonl = false, stderr: form = 'text' } = options;
    const isCi = isSet(environment.CI);
    this.#streams = streams;
    this.#isJsonLines = jsonl;
    this.isJson = json || jsonl;
    this.isLog = form === 'lines' || (form === 'auto' && stderr.isTTY !== true);
    this.isInteractive = stdin.isTTY === true && stderr.isTTY === true && !isCi;
    this.#moves = this.isInteractive && !this.isJson && !this.isLog && environment.TERM !== 'dumb';
  }

  /** Colours for stdout. */
  get colours(): Colours {
    return this.#coloursFor(this.#streams.stdout);
  }

  /** Colours for stderr. */
  get humanColours(): Colours {
    return this.isLog ? pc.createColors(false) : this.#coloursFor(this.#streams.stderr);
  }

  /** A line of data. */
  print(line: string): void {
    this.#streams.stdout.write(`${line}\n`);
  }

  /** One JSON document, readable when a person looks at it. */
  printJson(document: unknown): void {
    const isPage = this.#streams.stdout.isTTY === true && !this.#isJsonLines;
    this.print(JSON.stringify(document, null, isPage ? 2 : undefined));
  }

  /** Things to tell as JSON: one line each with `--jsonl`, else together in one document. */
  printJsonList(items: readonly unknown[], document: unknown): void {
    if (this.#isJsonLines) for (const item of items) this.print(JSON.stringify(item));
    else this.printJson(document);
  }

  /** A line for people. In a log it is one of its lines, and an empty one is none. */
  say(line = ''): void {
    if (!this.isLog) this.#streams.stderr.write(`${line}\n`);
    else if (line.trim() !== '') this.log('info', line.trim());
  }

  /** A line of a log, in the form of the server's own. */
  log(level: 'info' | 'warn' | 'error', message: string, fields: object = {}): void {
    const timestamp = new Date().toISOString();
    const line = { level, timestamp, 'service.name': 'gimbal', ...fields, message };
    this.#streams.stderr.write(`${JSON.stringify(line)}\n`);
  }

  /** What went wrong, where, what was expected, what came, what to do. */
  fail(failure: Failure): void {
    if (this.isLog) this.log('error', failure.message, { ...failure.details, exit_code: failure.exitCode });
    else this.#failForPeople(failure);
    if (this.isJson) this.printJson(failure);
  }

  #failForPeople(failure: Failure): void {
    const { bold, dim, red, cyan } = this.humanColours;
    const { where, expected, got, fix, findings = [] } = failure.details;
    this.say(`${red('✗')} ${bold(failure.message)}`);
    if (where !== undefined) this.say(`  ${dim('where')}     ${where}`);
    if (expected !== undefined) this.say(`  ${dim('expected')}  ${expected}`);
    if (got !== undefined) this.say(`  ${dim('got')}       ${got}`);
    for (const finding of findings) this.say(`  ${finding}`);
    if (fix !== undefined) this.say(`  ${dim('fix')}       ${cyan(fix)}`);
  }

  /** Runs slow work with a moving line on stderr while somebody looks. */
  async during<T>(what: string, work: Promise<T>): Promise<T> {
    if (!this.#moves) return await work;
    const { cyan } = this.humanColours;
    let frame = 0;
    let shown = false;
    let timer: NodeJS.Timeout | undefined;
    const draw = (): void => {
      this.#streams.stderr.write(`\r${cyan(SPINNER[frame % SPINNER.length] ?? '')} ${what}…\u001b[K`);
      frame += 1;
      shown = true;
      timer = setTimeout(draw, SPINNER_MS);
    };
    timer = setTimeout(draw, SPINNER_DELAY_MS);
    try {
      return await work;
    } finally {
      clearTimeout(timer);
      if (shown) this.#streams.stderr.write('\r\u001b[K');
    }
  }

  #coloursFor(stream: { readonly isTTY?: boolean }): Colours {
    const { environment } = this.#streams;
    const refused = isSet(environment.NO_COLOR) || isSet(environment.CI) || environment.TERM === 'dumb';
    return pc.createColors(stream.isTTY === true && !refused && !this.isJson);
  }
}

/** https://no-color.org: present and not empty. */
function isSet(variable: string | undefined): boolean {
  return variable !== undefined && variable !== '';
}
