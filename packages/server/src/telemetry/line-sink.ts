import { fstatSync, write } from 'node:fs';
import type { Writable } from 'node:stream';

/** Lines are written together when this much has come, or after `FLUSH_DELAY_MS`: a system call for each would cost more than the line. */
const FLUSH_BYTES = 16 * 1024;
const FLUSH_DELAY_MS = 100;
/** After a write that failed (a full disk, a pipe without a reader) the next is tried this much later. */
const RETRY_DELAY_MS = 1000;
/** What a log reader may be behind by, in UTF-16 units, before lines are dropped. */
export const MAX_BUFFERED_LENGTH = 4 * 1024 * 1024;

/** Writes a text somewhere and says when it has gone, or that it never will. Not called again before `done`. */
export type LineTarget = (text: string, done: (error?: Error | null) => void) => void;

/**
 * Where log lines go. Never blocks the event loop and never grows without bound: one write is underway at a time, lines
 * that come meanwhile are joined, and when the reader is too far behind they are dropped and counted. Lines of a write that
 * failed are lost and counted; later ones are tried again, since a full disk has room again some day.
 */
export class LineSink {
  readonly #target: LineTarget;
  readonly #maxLength: number;
  #buffer = '';
  #writing = false;
  #closed = false;
  /** The last write failed, and the next one waits. */
  #failed = false;
  #timer: NodeJS.Timeout | undefined;
  #idle: (() => void)[] = [];
  #dropped = 0;

  constructor(target: LineTarget, maxLength = MAX_BUFFERED_LENGTH) {
    this.#target = target;
    this.#maxLength = maxLength;
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** `line` ends in a newline. */
  write(line: string): void {
    if (this.#closed || this.#buffer.length + line.length > this.#maxLength) {
      this.#dropped += 1;
      return;
    }
    this.#buffer += line;
    if (this.#writing || this.#failed) return;
    if (this.#buffer.length >= FLUSH_BYTES) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), FLUSH_DELAY_MS).unref();
  }

  /** Resolves when all lines have gone, or after `limitMs` when the reader does not take them. */
  async close(limitMs: number): Promise<void> {
    this.#closed = true;
    if (!this.#writing) this.#flush();
    if (!this.#writing && this.#buffer === '') return;
    await new Promise<void>((resolve) => {
      const limit = setTimeout(resolve, limitMs);
      this.#idle.push(() => {
        clearTimeout(limit);
        resolve();
      });
    });
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#buffer === '') return;
    const text = this.#buffer;
    this.#buffer = '';
    this.#writing = true;
    this.#target(text, (error) => {
      this.#writing = false;
      if (error) this.#dropped += linesIn(text);
      // Whoever closes does not wait for better times.
      if (error && !this.#closed) this.#tryLater();
      else if (this.#buffer !== '' && !error) this.#flush();
      else for (const resolve of this.#idle.splice(0)) resolve();
    });
  }

  #tryLater(): void {
    this.#failed = true;
    this.#timer = setTimeout(() => {
      this.#failed = false;
      this.#flush();
    }, RETRY_DELAY_MS).unref();
  }
}

function linesIn(text: string): number {
  let lines = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines;
}

/**
 * The standard stream of this process. Files are written through the thread pool, since a slow disk must not block the
 * loop. Pipes, sockets and terminals go through Node's own stream: a thread stuck in `write` to a reader that has
 * stopped would keep the process from ever exiting.
 */
export function streamTarget(stream: Writable & { readonly fd: number }): LineTarget {
  if (fstatSync(stream.fd).isFile()) return fileTarget(stream.fd);
  let broken: Error | undefined;
  stream.on('error', (error: Error) => {
    broken = error;
  });
  return (text, done) => {
    if (broken) done(broken);
    else stream.write(text, done);
  };
}

/** A file, kept in the order of writing; a short write (disk full, signal) goes on where it stopped. */
export function fileTarget(fd: number): LineTarget {
  return (text, done) => {
    const bytes = Buffer.from(text);
    const step = (offset: number): void => {
      write(fd, bytes, offset, bytes.length - offset, null, (error, written) => {
        if (error || offset + written >= bytes.length) done(error);
        else step(offset + written);
      });
    };
    step(0);
  };
}
