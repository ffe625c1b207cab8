import type { Settings } from '../client-options.ts';
import { errorOfAnswer } from '../error-document.ts';
import { AnswerError, ConnectionError, DeadlineError, GimbalError } from '../errors.ts';
import { type AttemptEvent, tell } from '../hooks.ts';
import { childOf, untilAborted } from './abort.ts';
import { readAnswer } from './answer-body.ts';
import type { CallRequest, ReadAnswer, SentRequest } from './call-request.ts';

/** Largest error document that is read; longer ones are a proxy's page. */
const MAX_ERROR_BYTES = 64 * 1024;

export type Outcome<T> =
  | { readonly ok: true; readonly value: T; readonly durationMs: number }
  | { readonly ok: false; readonly error: GimbalError };

export interface AttemptPlan {
  readonly settings: Settings;
  readonly request: CallRequest;
  readonly sent: SentRequest;
  readonly headers: Headers;
  /** Aborts when the call ends: aborted by its caller, or past its deadline. */
  readonly ended: AbortSignal;
  readonly attempt: number;
  readonly hedge: boolean;
  /** Requests of the call, this one included. */
  readonly attempts: number;
  /** Set when the attempt must end before the call does. */
  readonly timeoutMs: number | undefined;
}

/** One request and its answer, the body included. */
export class Attempt<T> {
  /** Never rejects. */
  readonly outcome: Promise<Outcome<T>>;
  readonly #plan: AttemptPlan;
  readonly #controller: AbortController;
  readonly #release: () => void;
  readonly #startedAt: number;
  #requestId: string | undefined;
  #isTimedOut = false;
  #isCancelled = false;

  constructor(plan: AttemptPlan, read: ReadAnswer<T>) {
    const { controller, release } = childOf(plan.ended);
    this.#plan = plan;
    this.#controller = controller;
    this.#release = release;
    this.#startedAt = plan.settings.ports.now();
    this.outcome = this.#run(read);
  }

  /** Another attempt has won, or the stream's reader has left. */
  cancel(): void {
    this.#isCancelled = true;
    this.#controller.abort(new DOMException('The request is not needed any more', 'AbortError'));
    this.#release();
  }

  async #run(read: ReadAnswer<T>): Promise<Outcome<T>> {
    const { settings, timeoutMs } = this.#plan;
    const event = this.#event();
    tell(settings.hooks.onAttempt?.bind(settings.hooks), event);
    const cancelTimer =
      timeoutMs === undefined ? undefined : settings.ports.after(timeoutMs, () => this.#timeOut());
    try {
      return { ok: true, value: await this.#answer(event, read), durationMs: this.#durationMs() };
    } catch (thrown) {
      // Whatever is still arriving is not wanted.
      this.#controller.abort(thrown);
      this.#release();
      const error = this.#errorOf(thrown);
      if (!this.#isCancelled) {
        const durationMs = this.#durationMs();
        tell(settings.hooks.onAttemptError?.bind(settings.hooks), { ...event, error, durationMs });
      }
      return { ok: false, error };
    } finally {
      cancelTimer?.();
    }
  }

  async #answer(event: AttemptEvent, read: ReadAnswer<T>): Promise<T> {
    const { settings, request, sent, attempts } = this.#plan;
    const { signal } = this.#controller;
    const { body } = sent;
    const response = await untilAborted(
      settings.fetch(event.url, {
        method: event.method,
        headers: event.headers,
        signal,
        ...(body === undefined ? {} : { body }),
      }),
      signal,
    );
    const requestId = response.headers.get('x-request-id') ?? undefined;
    this.#requestId = requestId;
    const { status } = response;
    tell(settings.hooks.onResponse?.bind(settings.hooks), {
      ...event,
      status,
      requestId,
      durationMs: this.#durationMs(),
    });
    if (!response.ok && !request.acceptedStatuses.includes(status)) throw await this.#refusal(response);
    return await untilAborted(read({ response, signal, requestId, attempts }), signal);
  }

  async #refusal(response: Response): Promise<GimbalError> {
    const { settings, attempts, timeoutMs } = this.#plan;
    const { signal } = this.#controller;
    let text = '';
    try {
      text = new TextDecoder().decode(await untilAborted(readAnswer(response, MAX_ERROR_BYTES), signal));
    } catch (error) {
      if (signal.aborted) throw error;
      // The status says enough.
    }
    const { status, headers } = response;
    const wallTimeMs = settings.ports.wallTimeMs();
    const error = errorOfAnswer({ status, headers, text, attempts, wallTimeMs });
    // The server ran out of the time of this attempt, and the call has more.
    const isLocal = error.code === 'DEADLINE_EXCEEDED' && timeoutMs !== undefined;
    return isLocal ? new DeadlineError(error.message, { ...error, retryable: true }) : error;
  }

  #errorOf(thrown: unknown): GimbalError {
    const { settings, attempts, timeoutMs } = this.#plan;
    if (this.#isTimedOut) {
      return new DeadlineError(`Cannot get an answer: expected one within ${timeoutMs} ms, got none`, {
        code: 'DEADLINE_EXCEEDED',
        retryable: true,
        attempts,
        requestId: this.#requestId,
      });
    }
    const requestId = this.#requestId;
    // Readers of bodies know neither.
    if (thrown instanceof AnswerError)
      return new AnswerError(thrown.message, { ...thrown, attempts, requestId });
    if (thrown instanceof GimbalError) return thrown;
    return new ConnectionError(`Cannot get an answer of ${settings.baseUrl}: ${reasonOf(thrown)}`, {
      code: 'UNREACHABLE',
      retryable: true,
      attempts,
      requestId,
      cause: thrown,
    });
  }

  #timeOut(): void {
    this.#isTimedOut = true;
    this.#controller.abort(new DOMException('The attempt took too long', 'TimeoutError'));
  }

  #event(): AttemptEvent {
    const { settings, request, sent, headers, attempt, hedge } = this.#plan;
    const { method, model } = request;
    return { url: settings.baseUrl + sent.path, method, model, attempt, hedge, headers };
  }

  #durationMs(): number {
    return this.#plan.settings.ports.now() - this.#startedAt;
  }
}

/** Node tells in the cause what browsers keep to themselves. */
function reasonOf(thrown: unknown): string {
  const cause = (thrown as { cause?: { code?: unknown; message?: unknown } } | null)?.cause;
  const told = cause?.code ?? cause?.message ?? (thrown instanceof Error ? thrown.message : thrown);
  return typeof told === 'string' && told !== '' ? told : 'the connection broke';
}
