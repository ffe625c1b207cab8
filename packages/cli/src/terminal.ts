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

/** stdout is for data, stderr for people. Colours and movement only where a person looks. */
export class Terminal {
  readonly isJson: boolean;
  /** Whether somebody is there to answer a question. */
  readonly isInteractive: boolean;
  readonly #streams: TerminalStreams;
  readonly #moves: boolean;

  constructor(streams: TerminalStreams, options: { json: boolean }) {
    const { environment, stderr, stdin } = streams;
    const isCi = isSet(environment.CI);
    this.#streams = streams;
    this.isJson = options.json;
    this.isInteractive = stdin.isTTY === true && stderr.isTTY === true && !isCi;
    this.#moves = this.isInteractive && !options.json && environment.TERM !== 'dumb';
  }

  /** Colours for stdout. */
  get colours(): Colours {
    return this.#coloursFor(this.#streams.stdout);
  }

  /** Colours for stderr. */
  get humanColours(): Colours {
    return this.#coloursFor(this.#streams.stderr);
  }

  /** A line of data. */
  print(line: string): void {
    this.#streams.stdout.write(`${line}\n`);
  }

  /** One JSON document, readable when a person looks at it. */
  printJson(document: unknown): void {
    this.print(JSON.stringify(document, null, this.#streams.stdout.isTTY === true ? 2 : undefined));
  }

  /** A line for people. */
  say(line = ''): void {
    this.#streams.stderr.write(`${line}\n`);
  }

  /** What went wrong, where, what was expected, what came, what to do. */
  fail(failure: Failure): void {
    const { bold, dim, red, cyan } = this.humanColours;
    const { where, expected, got, fix, findings = [] } = failure.details;
    this.say(`${red('✗')} ${bold(failure.message)}`);
    if (where !== undefined) this.say(`  ${dim('where')}     ${where}`);
    if (expected !== undefined) this.say(`  ${dim('expected')}  ${expected}`);
    if (got !== undefined) this.say(`  ${dim('got')}       ${got}`);
    for (const finding of findings) this.say(`  ${finding}`);
    if (fix !== undefined) this.say(`  ${dim('fix')}       ${cyan(fix)}`);
    if (this.isJson) this.printJson(failure);
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
