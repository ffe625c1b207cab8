import type { Socket } from 'node:net';

/** Smaller bodies are copied behind their head: one small copy costs less than a second buffer in the write. */
const MAX_JOINED_BYTES = 16 * 1024;

export type AnswerBody = string | Uint8Array | readonly Uint8Array[];

/** Memory of an answer that the kernel has not taken yet. */
interface Loan {
  onFlushed: (() => void) | undefined;
}

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

/**
 * Writes answers to a socket, each with one system call where it can be. Large binary bodies are never copied: they are
 * on loan until `onFlushed`, which comes exactly once, also when the connection breaks.
 */
export class AnswerWriter {
  readonly #socket: Socket;
  readonly #loans = new Set<Loan>();
  #writtenBytes = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Bytes given to the socket since the last call. */
  takeWrittenBytes(): number {
    const written = this.#writtenBytes;
    this.#writtenBytes = 0;
    return written;
  }

  writeContinue(): void {
    this.#socket.write(CONTINUE, 'latin1');
    this.#writtenBytes += CONTINUE.length;
  }

  /** `lines` is latin1: status line and header lines, to which Content-Length is added. */
  write(lines: string, body: AnswerBody, onFlushed: (() => void) | undefined): void {
    const length = byteLengthOf(body);
    const head = `${lines}Content-Length: ${length}\r\n\r\n`;
    this.#writtenBytes += head.length + length;
    if (length > MAX_JOINED_BYTES && typeof body !== 'string') {
      this.#writeLent(head, body, onFlushed);
      return;
    }
    if (length === 0) this.#socket.write(head, 'latin1');
    else if (typeof body === 'string') this.#writeText(head, body, length);
    else this.#writeJoined(head, body, length);
    onFlushed?.();
  }

  /** The head that an answer with this body would have (HEAD), or, with no body, one without Content-Length. */
  writeHead(lines: string, body: AnswerBody | undefined): void {
    const length = body === undefined ? '' : `Content-Length: ${byteLengthOf(body)}\r\n`;
    const head = `${lines}${length}\r\n`;
    this.#writtenBytes += head.length;
    this.#socket.write(head, 'latin1');
  }

  /** The socket is closed: the kernel holds nothing of ours any more. */
  closed(): void {
    for (const loan of this.#loans) this.#return(loan);
  }

  #writeText(head: string, body: string, length: number): void {
    // One byte a character means ASCII, which is the same in latin1: Node's quickest way to write a string.
    if (length === body.length) {
      this.#socket.write(head + body, 'latin1');
      return;
    }
    const bytes = Buffer.allocUnsafe(head.length + length);
    bytes.write(head, 0, 'latin1');
    bytes.write(body, head.length, 'utf8');
    this.#socket.write(bytes);
  }

  #writeJoined(head: string, body: Uint8Array | readonly Uint8Array[], length: number): void {
    const bytes = Buffer.allocUnsafe(head.length + length);
    bytes.write(head, 0, 'latin1');
    let at = head.length;
    if (body instanceof Uint8Array) bytes.set(body, at);
    else {
      for (const piece of body) {
        bytes.set(piece, at);
        at += piece.length;
      }
    }
    this.#socket.write(bytes);
  }

  /** Head and pieces leave together, by `writev`. */
  #writeLent(
    head: string,
    body: Uint8Array | readonly Uint8Array[],
    onFlushed: (() => void) | undefined,
  ): void {
    const socket = this.#socket;
    const loan: Loan = { onFlushed };
    this.#loans.add(loan);
    const pieces = body instanceof Uint8Array ? [body] : body;
    const last = pieces.findLastIndex((piece) => piece.length > 0);
    socket.cork();
    socket.write(head, 'latin1');
    for (let index = 0; index <= last; index += 1) {
      const piece = pieces[index];
      if (!piece || piece.length === 0) continue;
      // An error of the write means only that the bytes are not needed any more.
      if (index === last) socket.write(piece, () => this.#return(loan));
      else socket.write(piece);
    }
    socket.uncork();
  }

  #return(loan: Loan): void {
    this.#loans.delete(loan);
    const { onFlushed } = loan;
    loan.onFlushed = undefined;
    onFlushed?.();
  }
}

function byteLengthOf(body: AnswerBody): number {
  if (typeof body === 'string') return Buffer.byteLength(body);
  if (body instanceof Uint8Array) return body.length;
  let length = 0;
  for (const piece of body) length += piece.length;
  return length;
}
