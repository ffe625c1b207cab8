import { EXIT } from '../exit-code.ts';
import { Failure } from '../failure.ts';
import type { ServerClient } from '../server-client.ts';
import type { Answer } from './answer.ts';
import type { DrillModels } from './drill.ts';
import type { OpenLoop } from './open-loop.ts';
import type { OwnServer } from './own-server.ts';
import type { SampleRequest } from './sample-request.ts';
import type { PreparedRequest, Sender } from './sender.ts';
import type { Mark } from './timeline.ts';

const POLL_MS = 50;

/** One line of `GET /admin/v1/runners`, as far as drills read it. */
export interface RunnerLine {
  readonly pid: number | null;
  readonly model: string;
  readonly variant: string;
  readonly state: string;
  readonly restarts: number;
}

export interface StageOptions {
  readonly model: string;
  readonly request: SampleRequest;
  readonly sender: Sender;
  readonly load: OpenLoop;
  readonly admin: ServerClient;
  readonly durationMs: number;
  readonly ratePerSecond: number;
  /** Undefined when the drill is aimed at a server of others. */
  readonly server: OwnServer | undefined;
  readonly models: DrillModels | undefined;
  /** Starts another server of the drill's own with the same models; it is stopped at the end. */
  readonly startReplica: () => Promise<OwnServer>;
}

/** What a drill works with, from the moment at which it may break things. */
export class Stage {
  readonly marks: Mark[] = [];
  readonly options: StageOptions;
  /** When the first fault began, in ms since the load did. */
  readonly brokenAt: number;
  /** When what was broken was mended by the drill itself; undefined: the server had to. */
  healedAt: number | undefined;
  /** Other requests than the load's, such as poison. */
  readonly asides: Answer[] = [];

  constructor(options: StageOptions) {
    this.options = options;
    this.brokenAt = options.sender.now();
  }

  get answers(): readonly Answer[] {
    return this.options.load.answers;
  }

  /** The load's answers to what was sent from the fault on, `afterMs` later and within `forMs`. */
  answersSince(afterMs = 0, forMs = Number.POSITIVE_INFINITY): readonly Answer[] {
    const from = this.brokenAt + afterMs;
    return this.answers.filter(({ sentAt }) => sentAt >= from && sentAt < from + forMs);
  }

  /** Since the fault. */
  get elapsedMs(): number {
    return this.options.sender.now() - this.brokenAt;
  }

  /** From here on the server has no excuse. */
  healed(text: string): void {
    this.healedAt = this.options.sender.now();
    this.mark(text);
  }

  mark(text: string): void {
    this.marks.push({ at: this.options.sender.now(), text });
  }

  /** Breaks something of the target model. */
  async inject(fault: Readonly<Record<string, unknown>>, text: string): Promise<number> {
    const body = JSON.stringify({ model: this.options.model, ...fault });
    const answer = await this.#post('/admin/v1/faults', body);
    this.mark(text);
    return (answer as { id?: number }).id ?? 0;
  }

  async clear(fault: number, text: string): Promise<void> {
    await this.#post(`/admin/v1/faults/${fault}/clear`, '{}');
    this.healed(text);
  }

  async clearAll(): Promise<void> {
    await this.#post('/admin/v1/faults/clear', '{}');
  }

  async aside(request: PreparedRequest): Promise<Answer> {
    const answer = await this.options.sender.send(request);
    this.asides.push(answer);
    return answer;
  }

  /** The target model's. */
  async runners(): Promise<readonly RunnerLine[]> {
    const all = await this.allRunners();
    return all.filter(({ model }) => model === this.options.model);
  }

  async allRunners(): Promise<readonly RunnerLine[]> {
    const { body } = await this.options.admin.request({ method: 'GET', path: '/admin/v1/runners' });
    return (body as { runners?: RunnerLine[] } | undefined)?.runners ?? [];
  }

  /** How long a condition took to come true, in ms; undefined when it did not within the limit. */
  async until(condition: () => Promise<boolean> | boolean, limitMs: number): Promise<number | undefined> {
    const started = performance.now();
    for (;;) {
      if (await condition()) return performance.now() - started;
      if (performance.now() - started >= limitMs) return undefined;
      await pause(POLL_MS);
    }
  }

  /** Until so long after the fault, or at once when that is over. */
  async waitUntil(elapsedMs: number): Promise<void> {
    await pause(Math.max(0, elapsedMs - this.elapsedMs));
  }

  /** Until the drill's time is over. */
  async playOut(): Promise<void> {
    await this.waitUntil(this.options.durationMs);
  }

  async #post(path: string, body: string): Promise<unknown> {
    const headers = { 'content-type': 'application/json' };
    try {
      const { body: answer } = await this.options.admin.request({ method: 'POST', path, headers, body });
      return answer;
    } catch (error) {
      if (!(error instanceof Failure) || error.exitCode !== EXIT.denied) throw error;
      throw new Failure(error.exitCode, error.message, {
        ...error.details,
        fix: 'start the server with --drills, and only where requests may be broken',
      });
    }
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
