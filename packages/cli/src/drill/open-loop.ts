import type { Answer } from './answer.ts';
import type { PreparedRequest, Sender } from './sender.ts';

const TICK_MS = 5;
/** A server that answers nothing must not fill this process: what would be over it is not sent, and counted. */
const MAX_UNANSWERED = 4_000;
/** Answers that are kept; a drill of minutes at hundreds a second. */
const MAX_ANSWERS = 200_000;

/**
 * Sends at a rate that does not depend on the answers: clients of a service do not wait for each other, and a load that
 * slows down with its server would hide what the drill is about.
 */
export class OpenLoop {
  readonly answers: Answer[] = [];
  ratePerSecond: number;
  /** Requests that were due and not sent. */
  unsent = 0;
  readonly #sender: Sender;
  readonly #next: (turn: number) => PreparedRequest;
  readonly #unanswered = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #tickedAt = 0;
  /** Requests that are due, with fractions. */
  #due = 0;
  #turn = 0;

  constructor(sender: Sender, ratePerSecond: number, next: (turn: number) => PreparedRequest) {
    this.#sender = sender;
    this.ratePerSecond = ratePerSecond;
    this.#next = next;
  }

  start(): void {
    this.#tickedAt = this.#sender.now();
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  /** Sends nothing more and resolves when all have been answered or given up. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#unanswered);
  }

  #tick(): void {
    const now = this.#sender.now();
    this.#due += (this.ratePerSecond * (now - this.#tickedAt)) / 1000;
    this.#tickedAt = now;
    for (; this.#due >= 1; this.#due -= 1) this.#send();
  }

  #send(): void {
    if (this.#unanswered.size >= MAX_UNANSWERED || this.answers.length >= MAX_ANSWERS) {
      this.unsent += 1;
      return;
    }
    this.#turn += 1;
    const sent: Promise<void> = this.#sender.send(this.#next(this.#turn)).then((answer) => {
      this.answers.push(answer);
      this.#unanswered.delete(sent);
    });
    this.#unanswered.add(sent);
  }
}
