/** Longest line that is kept; the rest of it is cut off. */
const MAX_LINE_LENGTH = 4096;
/** Most lines a second; what is over is counted, not kept: a runner that floods its log must not slow the host. */
const MAX_LINES_PER_SECOND = 100;

/** Cuts the output of a runner into lines, bounded in length and rate. */
export class LineSplitter {
  readonly #onLine: (text: string) => void;
  readonly #now: () => number;
  #partial = '';
  #secondStartedAt = Number.NEGATIVE_INFINITY;
  #linesInSecond = 0;
  #dropped = 0;

  constructor(onLine: (text: string) => void, now: () => number) {
    this.#onLine = onLine;
    this.#now = now;
  }

  push(text: string): void {
    let from = 0;
    for (;;) {
      const end = text.indexOf('\n', from);
      if (end < 0) break;
      this.#append(text, from, end);
      this.#flush();
      from = end + 1;
    }
    this.#append(text, from, text.length);
  }

  /** The stream has ended: gives what stands without a line end. */
  end(): void {
    this.#flush();
    if (this.#dropped > 0) this.#reportDropped();
  }

  #append(text: string, from: number, end: number): void {
    const room = MAX_LINE_LENGTH - this.#partial.length;
    if (room > 0) this.#partial += text.slice(from, Math.min(end, from + room));
  }

  #flush(): void {
    const line = this.#partial.trimEnd();
    this.#partial = '';
    if (line === '') return;
    const now = this.#now();
    if (now - this.#secondStartedAt >= 1000) {
      this.#secondStartedAt = now;
      this.#linesInSecond = 0;
      if (this.#dropped > 0) this.#reportDropped();
    }
    this.#linesInSecond += 1;
    if (this.#linesInSecond > MAX_LINES_PER_SECOND) this.#dropped += 1;
    else this.#onLine(line);
  }

  #reportDropped(): void {
    const dropped = this.#dropped;
    this.#dropped = 0;
    this.#onLine(`${dropped} lines left out: more than ${MAX_LINES_PER_SECOND} in a second`);
  }
}
