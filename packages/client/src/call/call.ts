import type { Hedging, Settings } from '../client-options.ts';
import { AbortError, DeadlineError, GimbalError, ValidationError } from '../errors.ts';
import { tell } from '../hooks.ts';
import { untilAborted } from './abort.ts';
import { Attempt, type Outcome } from './attempt.ts';
import type { CallRequest, ReadAnswer, SentRequest } from './call-request.ts';
import { retryDelayMs } from './retry-delay.ts';

/** Why a call is over before it has an answer. */
type End = 'aborted' | 'late';

/** One call of the user: attempts, waits and hedges under one deadline and one signal. */
export class Call {
  readonly #settings: Settings;
  readonly #request: CallRequest;
  readonly #ended = new AbortController();
  readonly #startedAt: number;
  #cancelDeadline: (() => void) | undefined;
  #end: End | undefined;
  #attempts = 0;
  #sent: SentRequest | undefined;
  #current: Attempt<unknown> | undefined;

  constructor(settings: Settings, request: CallRequest) {
    this.#settings = settings;
    this.#request = request;
    this.#startedAt = settings.ports.now();
  }

  /** Reads one answer. The call stays open for what reads on: `close` ends it. Throws a GimbalError. */
  async exchange<T>(read: ReadAnswer<T>): Promise<T> {
    const { hooks, ports, retries } = this.#settings;
    this.#open();
    this.#sent = await this.#prepare();
    retries.earn();
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.#tryOnce(attempt, read);
      if (outcome.ok) return outcome.value;
      if (this.#end) throw this.#endError(outcome.error);
      const { error } = outcome;
      const delayMs = this.#delayAfter(attempt, error);
      if (delayMs === undefined || !retries.take(ports.now())) throw error;
      tell(hooks.onRetry?.bind(hooks), { model: this.#request.model, attempt, error, delayMs });
      await this.#sleep(delayMs, error);
    }
  }

  /** Why the call is over, as an error; `thrown` itself when it is not. */
  endError(thrown: unknown): unknown {
    return this.#end ? this.#endError(thrown) : thrown;
  }

  /** Cancels what is still running and lets go of the caller's signal. */
  close(): void {
    this.#cancelDeadline?.();
    this.#request.signal?.removeEventListener('abort', this.#onAbort);
    this.#current?.cancel();
    this.#current = undefined;
  }

  #open(): void {
    const { signal, deadlineMs } = this.#request;
    if (signal?.aborted) {
      this.#onAbort();
      throw this.#endError(undefined);
    }
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (deadlineMs === undefined) return;
    this.#cancelDeadline = this.#settings.ports.after(deadlineMs, () => this.#finish('late'));
  }

  async #prepare(): Promise<SentRequest> {
    const { signal } = this.#ended;
    try {
      return await untilAborted(Promise.resolve(this.#request.prepare(signal)), signal);
    } catch (thrown) {
      if (this.#end) throw this.#endError(undefined);
      if (thrown instanceof GimbalError) throw thrown;
      const reason = thrown instanceof Error ? thrown.message : String(thrown);
      throw new ValidationError(`Cannot send the input: ${reason}`, { cause: thrown });
    }
  }

  readonly #onAbort = (): void => this.#finish('aborted');

  #finish(end: End): void {
    this.#end ??= end;
    this.#ended.abort(new DOMException('The call is over', 'AbortError'));
  }

  #endError(cause: unknown): GimbalError {
    const facts = { attempts: this.#attempts };
    if (this.#end === 'aborted') {
      const { signal } = this.#request;
      return new AbortError('The call was aborted', { ...facts, code: 'CANCELLED', cause: signal?.reason });
    }
    return new DeadlineError(
      `Cannot get an answer: expected one within ${this.#request.deadlineMs} ms, got none`,
      { ...facts, code: 'DEADLINE_EXCEEDED', cause },
    );
  }

  async #tryOnce<T>(attempt: number, read: ReadAnswer<T>): Promise<Outcome<T>> {
    const { hedging } = this.#settings;
    const first = this.#start(read, { attempt, hedge: false });
    if (!hedging || !this.#request.mayHedge) return await first.outcome;
    const outcome = await this.#hedged(first, { attempt, read, hedging });
    if (outcome.ok) hedging.latencies.of(this.#request.model ?? '').add(outcome.durationMs);
    return outcome;
  }

  async #hedged<T>(
    first: Attempt<T>,
    plan: { readonly attempt: number; readonly read: ReadAnswer<T>; readonly hedging: Hedging },
  ): Promise<Outcome<T>> {
    const { hooks, ports } = this.#settings;
    const { budget, latencies, afterMs: given } = plan.hedging;
    const { model } = this.#request;
    budget.earn();
    const afterMs = given ?? latencies.of(model ?? '').p95;
    if (afterMs === undefined) return await first.outcome;
    const early = await this.#within(first.outcome, afterMs);
    if (early) return early;
    if (this.#end || !budget.take(ports.now())) return await first.outcome;
    tell(hooks.onHedge?.bind(hooks), { model, afterMs });
    const second = this.#start(plan.read, { attempt: plan.attempt, hedge: true });
    return await this.#faster(first, second);
  }

  /** The first that succeeds; the other is cancelled. When both fail, the first's error. */
  async #faster<T>(first: Attempt<T>, second: Attempt<T>): Promise<Outcome<T>> {
    const winner = await Promise.race([
      first.outcome.then((outcome) => ({ outcome, other: second, own: first })),
      second.outcome.then((outcome) => ({ outcome, other: first, own: second })),
    ]);
    this.#current = winner.own;
    if (winner.outcome.ok) {
      winner.other.cancel();
      return winner.outcome;
    }
    this.#current = winner.other;
    const last = await winner.other.outcome;
    return last.ok ? last : await first.outcome;
  }

  #start<T>(read: ReadAnswer<T>, which: { readonly attempt: number; readonly hedge: boolean }): Attempt<T> {
    const { attemptTimeoutMs } = this.#request;
    const remainingMs = this.#remainingMs();
    const sent = this.#sent as SentRequest;
    this.#attempts += 1;
    const started = new Attempt<T>(
      {
        ...which,
        settings: this.#settings,
        request: this.#request,
        sent,
        headers: this.#headersOf(sent, which, Math.min(attemptTimeoutMs, remainingMs)),
        ended: this.#ended.signal,
        attempts: this.#attempts,
        timeoutMs: attemptTimeoutMs < remainingMs ? attemptTimeoutMs : undefined,
      },
      read,
    );
    this.#current = started;
    return started;
  }

  #headersOf(
    sent: SentRequest,
    which: { readonly attempt: number; readonly hedge: boolean },
    budgetMs: number,
  ): Headers {
    const { idempotencyKey, deadlineMs, method } = this.#request;
    const headers = headersFrom({ ...this.#settings.headers, ...sent.headers });
    if (method === 'GET') return headers;
    headers.set('inference-attempt', String(which.attempt));
    if (deadlineMs !== undefined) {
      headers.set('inference-timeout-ms', String(Math.max(1, Math.floor(budgetMs))));
    }
    if (idempotencyKey !== undefined) {
      // A hedge runs beside its twin: under the same key the server would refuse it as still running.
      headers.set('idempotency-key', which.hedge ? `${idempotencyKey}-hedge` : idempotencyKey);
    }
    return headers;
  }

  #delayAfter(attempt: number, error: GimbalError): number | undefined {
    if (!error.retryable || attempt > this.#request.maxRetries) return undefined;
    const { maxRetryDelayMs, ports } = this.#settings;
    const remainingMs = this.#remainingMs();
    return retryDelayMs({ error, attempt, maxRetryDelayMs, remainingMs, random: ports.random() });
  }

  #remainingMs(): number {
    const { deadlineMs } = this.#request;
    if (deadlineMs === undefined) return Number.POSITIVE_INFINITY;
    return Math.max(0, deadlineMs - (this.#settings.ports.now() - this.#startedAt));
  }

  async #sleep(delayMs: number, before: GimbalError): Promise<void> {
    let cancel: (() => void) | undefined;
    const slept = new Promise<void>((resolve) => {
      cancel = this.#settings.ports.after(delayMs, resolve);
    });
    try {
      await untilAborted(slept, this.#ended.signal);
    } catch {
      throw this.#endError(before);
    } finally {
      cancel?.();
    }
  }

  /** The outcome, or undefined when it takes longer. */
  async #within<T>(outcome: Promise<Outcome<T>>, delayMs: number): Promise<Outcome<T> | undefined> {
    let cancel: (() => void) | undefined;
    const passed = new Promise<undefined>((resolve) => {
      cancel = this.#settings.ports.after(delayMs, () => resolve(undefined));
    });
    const first = await Promise.race([outcome, passed]);
    cancel?.();
    return first;
  }
}

function headersFrom(lines: Readonly<Record<string, string>>): Headers {
  try {
    return new Headers(lines);
  } catch (error) {
    throw new ValidationError(`Cannot send the headers: ${error instanceof Error ? error.message : error}`);
  }
}
